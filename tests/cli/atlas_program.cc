// Writes an atlas of a checkpoint that it makes.
//
//   atlas_program FILE small    a few arrays on 8 devices and 2 hosts, one rule of each fate
//   atlas_program FILE hostile  keys, patterns and a title that try to be markup or are very long,
//   a huge array atlas_program FILE empty    no arrays atlas_program FILE large    20,000 arrays on
//   512 devices and 64 hosts atlas_program FILE at LOCATION MESH HOSTS RULES  of one that is there;
//   RULES is JSON
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/atlas/atlas.h"
#include "tessera/core/status.h"
#include "tessera/explain/explain_load.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"

namespace tessera::atlas {
namespace {

// Arrays without data, of which only metadata is looked at.
class MadeCheckpoint {
 public:
  absl::Status Add(const std::string& path, const Dims& shape, const Dims& chunks,
                   DType dtype = DType::kBfloat16) {
    const zarr::Metadata metadata = zarr::JaxMetadata({shape, dtype}, chunks);
    change_.arrays.push_back({path, shape, std::string(DTypeName(dtype))});
    return zarr::Array::Create(*store_, path, metadata).status();
  }
  absl::StatusOr<checkpoint::Checkpoint> Open(IoContext& io) {
    TESSERA_ASSIGN_OR_RETURN(const std::string index,
                             ledger::ApplyIndexChange(std::nullopt, change_));
    TESSERA_RETURN_IF_ERROR(
        store_->Write(ledger::kIndexName, std::as_bytes(std::span(index))).status());
    return checkpoint::Checkpoint::Open(*store_, io);
  }

 private:
  std::unique_ptr<store::KvStore> store_ = store::MakeMemoryStore();
  ledger::IndexChange change_;
};

struct Case {
  std::string title;
  std::string mesh;
  int64_t hosts = 1;
  std::vector<mesh::PartitionRule> rules;
  std::optional<int64_t> budget = {};
};

absl::Status WriteAtlas(const std::string& file, const Case& about,
                        const checkpoint::Checkpoint& checkpoint) {
  TESSERA_ASSIGN_OR_RETURN(const mesh::Mesh flat, mesh::ParseMesh(about.mesh));
  explain::ExplainRequest request{.mesh = {}, .rules = about.rules, .device_budget = about.budget};
  TESSERA_ASSIGN_OR_RETURN(request.mesh, explain::DealToHosts(flat, about.hosts));
  TESSERA_ASSIGN_OR_RETURN(const explain::LoadExplanation explanation,
                           explain::ExplainLoad(checkpoint, request));
  std::ofstream out(file, std::ios::binary);
  out << AtlasHtml(checkpoint, explanation, {about.title});
  return out.flush() ? absl::OkStatus() : Unavailable(file, ": cannot be written");
}

absl::Status Small(const std::string& file) {
  MadeCheckpoint made;
  IoContext io;
  TESSERA_RETURN_IF_ERROR(made.Add("embed/embedding", {32000, 4096}, {4000, 4096}));
  for (int i = 0; i < 12; ++i) {
    const std::string layer = Concat("layers/", i, "/");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      TESSERA_RETURN_IF_ERROR(
          made.Add(Concat(layer, "attn/", name, "/kernel"), {4096, 4096}, {1024, 4096}));
    }
    TESSERA_RETURN_IF_ERROR(
        made.Add(Concat(layer, "mlp/experts"), {8, 4096, 1408}, {1, 2048, 1408}));
    TESSERA_RETURN_IF_ERROR(made.Add(Concat(layer, "norm/scale"), {4096}, {4096}, DType::kFloat32));
  }
  TESSERA_RETURN_IF_ERROR(made.Add("head/kernel", {4096, 32000}, {1024, 32000}));
  TESSERA_RETURN_IF_ERROR(made.Add("odd/table", {4099, 512}, {4099, 512}, DType::kFloat32));
  TESSERA_RETURN_IF_ERROR(made.Add("step", {}, {}, DType::kInt64));
  TESSERA_RETURN_IF_ERROR(made.Add("none", {0, 4}, {1, 4}, DType::kFloat32));
  const Case about{.title = "small model",
                   .mesh = "dp=2,tp=4",
                   .hosts = 2,
                   .rules = {{"embedding$", {"tp", nullptr}},
                             {"(q|k|v)_proj/kernel$", {nullptr, "tp"}},
                             {"o_proj/kernel$", {{"dp", "tp"}, nullptr}},
                             {"experts$", {"tp", nullptr, "dp"}},
                             {"table$", {"tp", nullptr}},
                             {"layers/.*/kernel$", {"tp"}},
                             {"adapter", {"tp"}},
                             {"(head|scale|step)", {}}},
                   .budget = int64_t{700} << 20};
  TESSERA_ASSIGN_OR_RETURN(const auto checkpoint, made.Open(io));
  return WriteAtlas(file, about, checkpoint);
}

absl::Status Hostile(const std::string& file) {
  MadeCheckpoint made;
  IoContext io;
  const std::string image = "<img src=x onerror=document.title=1>";
  TESSERA_RETURN_IF_ERROR(made.Add(Concat("a<", image, "&lt;\"'"), {8, 8}, {4, 4}));
  TESSERA_RETURN_IF_ERROR(made.Add("<!--<script>alert(1)", {8}, {8}));
  TESSERA_RETURN_IF_ERROR(made.Add("&amp;u003c%3Cb%3E", {8}, {8}));
  TESSERA_RETURN_IF_ERROR(made.Add("__proto__/constructor", {8}, {8}));
  TESSERA_RETURN_IF_ERROR(made.Add(std::string(180, 'w') + "/" + std::string(180, 'k'), {64}, {8}));
  std::string deep;
  for (int i = 0; i < 120; ++i) deep += "d.";
  TESSERA_RETURN_IF_ERROR(made.Add(deep + "end", {8}, {8}));
  TESSERA_RETURN_IF_ERROR(made.Add("huge", {int64_t{1} << 40, int64_t{1} << 18}, {1, 1}));
  const Case about{.title = Concat("</title></script>", image),
                   .mesh = "x=2",
                   .rules = {{Concat("</script>", image), {"x"}},
                             {Concat("nothing", std::string(300, 'n')), {"x"}},
                             {"w", {"x"}}}};
  TESSERA_ASSIGN_OR_RETURN(const auto checkpoint, made.Open(io));
  return WriteAtlas(file, about, checkpoint);
}

absl::Status Empty(const std::string& file) {
  MadeCheckpoint made;
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const auto checkpoint, made.Open(io));
  return WriteAtlas(file, {.title = "nothing", .mesh = "x=2", .rules = {{"w", {"x"}}}}, checkpoint);
}

absl::Status Large(const std::string& file) {
  MadeCheckpoint made;
  IoContext io;
  constexpr int kLayers = 124;
  TESSERA_RETURN_IF_ERROR(made.Add("model/embed/embedding", {131072, 16384}, {8192, 16384}));
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = Concat("model/layers/", i, "/");
    for (int expert = 0; expert < 52; ++expert) {
      for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
        TESSERA_RETURN_IF_ERROR(made.Add(Concat(layer, "experts/", expert, "/", name, "/kernel"),
                                         {4096 + 64 * (i % 7), 1536}, {2048, 1536}));
      }
    }
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      TESSERA_RETURN_IF_ERROR(
          made.Add(Concat(layer, "attn/", name, "/kernel"), {16384, 16384}, {1024, 16384}));
    }
    TESSERA_RETURN_IF_ERROR(made.Add(Concat(layer, "norm/scale"), {16384}, {16384}));
  }
  for (int i = 0; i < 35; ++i) {
    TESSERA_RETURN_IF_ERROR(made.Add(Concat("opt/step_", i), {1000 + i}, {1000}, DType::kFloat32));
  }
  const Case about{.title = "large model",
                   .mesh = "dp=4,fsdp=16,tp=8",
                   .hosts = 64,
                   .rules = {{"embedding", {{"fsdp", "tp"}, nullptr}},
                             {"(gate|up)_proj", {"fsdp", "tp"}},
                             {"down_proj", {"tp", "fsdp"}},
                             {"attn/o_proj", {"tp", "fsdp"}},
                             {"attn/", {"fsdp", "tp"}},
                             {"scale", {"tp"}}},
                   .budget = int64_t{3} << 30};
  TESSERA_ASSIGN_OR_RETURN(const auto checkpoint, made.Open(io));
  return WriteAtlas(file, about, checkpoint);
}

absl::Status At(const std::string& file, std::span<const std::string> words) {
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const auto checkpoint,
                           checkpoint::Checkpoint::OpenAt(words[0], io, {.all_prefixes = true}));
  TESSERA_ASSIGN_OR_RETURN(const Json rules, ParseJson(words[3]));
  Case about{.title = words[0], .mesh = words[1], .hosts = std::stoi(words[2]), .rules = {}};
  TESSERA_ASSIGN_OR_RETURN(about.rules, mesh::PartitionRulesFromJson(rules));
  return WriteAtlas(file, about, checkpoint);
}

absl::Status Run(std::span<const std::string> words) {
  if (words.size() == 2 && words[1] == "small") return Small(words[0]);
  if (words.size() == 2 && words[1] == "hostile") return Hostile(words[0]);
  if (words.size() == 2 && words[1] == "empty") return Empty(words[0]);
  if (words.size() == 2 && words[1] == "large") return Large(words[0]);
  if (words.size() == 6 && words[1] == "at") return At(words[0], words.subspan(2));
  return InvalidArgument(
      "usage: atlas_program FILE small|hostile|empty|large|at LOCATION MESH HOSTS RULES");
}

}  // namespace
}  // namespace tessera::atlas

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const absl::Status status = tessera::atlas::Run(words);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 2;
}
