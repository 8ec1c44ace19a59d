// Saves and loads checkpoints as a list of jobs says, for tests that hold us against others.
//
// usage: checkpoint_peer JOBS.json RESULTS.json
//
// A job is an object with "do" and "dir"; its result is an object, with "error": {code, message}
// where it failed.
//   save       "tree", "prefix", "mesh", "codec", "chunk_bytes", "structure" (write eformer's
//   file),
//              "safetensors": {"stem", "shard_bytes", "metadata"} for files of that format
//   load       "out" (a folder for data), "prefix", "all_prefixes", "mesh", "rules", "shardings",
//              "auto_correct", "cast"; gives "tree", "integrity", "indexed"
//   structure  "prefix"; gives the "tree" of eformer's structure file
//   steps      gives the "steps" of a run and its "latest"
//   judge      "files"; gives for each safetensors file null, or why it cannot be opened ("errors")
//   convert    "to" (a place), "format", "shard_bytes", "transpose"; from "dir"
//   verify, seal
// A mesh is a list of [axis, size].  A tree is null, {"list": [..]}, {"tuple": [..]},
// {"dict": [[key, tree], ..]}, {"scalar": value}, {"complex": [re, im]}, {"record": number} or
// {"array": {"dtype", "shape", "data": file}}, an array with "spec" lying on the mesh.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/convert/convert.h"
#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/ledger/structure_file.h"
#include "tessera/mesh/rules.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/steps/catalogue.h"
#include "tessera/store/file_store.h"
#include "tessera/tree/map.h"

namespace tessera {
namespace {

using array::Value;
using array::ValueTree;

struct Tools {
  IoContext io{{.in_flight = 4}};
  std::unique_ptr<device::Platform> platform;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<int64_t>(text.size()));
}

absl::StatusOr<std::optional<mesh::Mesh>> MeshOf(const Json& job) {
  if (!job.contains("mesh")) return std::nullopt;
  std::vector<mesh::Axis> axes;
  for (const Json& axis : job.at("mesh")) axes.push_back({axis.at(0), axis.at(1)});
  TESSERA_ASSIGN_OR_RETURN(mesh::Mesh mesh, mesh::Mesh::MakeHost(std::move(axes)));
  return mesh;
}

// Trees from JSON.
class TreeReader {
 public:
  TreeReader(std::optional<mesh::Mesh> mesh, device::Platform& platform)
      : mesh_(std::move(mesh)), platform_(platform) {}

  absl::StatusOr<ValueTree> Read(const Json& json) const {
    if (json.is_null()) return ValueTree::None();
    const std::string kind = json.begin().key();
    const Json& body = *json.begin();
    if (kind == "dict") return ReadDict(body);
    if (kind == "list" || kind == "tuple") return ReadSequence(kind, body);
    if (kind == "array") return ReadArray(body);
    if (kind == "scalar") return Leaf(ScalarOf(body));
    if (kind == "complex") return Leaf(std::complex<double>(body.at(0), body.at(1)));
    return InvalidArgument("unknown kind of node: ", kind);
  }

 private:
  static ValueTree Leaf(tree::Scalar scalar) { return array::MakeScalar(std::move(scalar)); }

  static tree::Scalar ScalarOf(const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return json.get<int64_t>();
    if (json.is_number()) return json.get<double>();
    return json.get<std::string>();
  }

  absl::StatusOr<ValueTree> ReadDict(const Json& body) const {
    ValueTree::Items items;
    for (const Json& item : body) {
      TESSERA_ASSIGN_OR_RETURN(ValueTree child, Read(item.at(1)));
      const Json& key = item.at(0);
      items.emplace_back(key.is_string() ? tree::DictKey(key.get<std::string>())
                                         : tree::DictKey(key.get<int64_t>()),
                         std::move(child));
    }
    return ValueTree::Dict(std::move(items));
  }

  absl::StatusOr<ValueTree> ReadSequence(std::string_view kind, const Json& body) const {
    std::vector<ValueTree> children;
    for (const Json& item : body) {
      TESSERA_ASSIGN_OR_RETURN(ValueTree child, Read(item));
      children.push_back(std::move(child));
    }
    return kind == "list" ? ValueTree::List(std::move(children))
                          : ValueTree::Tuple(std::move(children));
  }

  absl::StatusOr<ValueTree> ReadArray(const Json& body) const {
    TESSERA_ASSIGN_OR_RETURN(const DType dtype, ParseDType(body.at("dtype").get<std::string>()));
    const auto sizes = body.at("shape").get<std::vector<int64_t>>();
    const std::string data = ReadFile(body.at("data"));
    TESSERA_ASSIGN_OR_RETURN(array::HostArray host,
                             array::HostArray::CopyOf({Dims(sizes.begin(), sizes.end()), dtype},
                                                      std::as_bytes(std::span(data))));
    if (!body.contains("spec") || !mesh_.has_value()) return ValueTree::Leaf(std::move(host));
    TESSERA_ASSIGN_OR_RETURN(mesh::PartitionSpec spec,
                             mesh::PartitionSpecFromJson(body.at("spec"), "spec"));
    TESSERA_ASSIGN_OR_RETURN(const auto sharding,
                             mesh::NamedSharding::Make(*mesh_, std::move(spec)));
    TESSERA_ASSIGN_OR_RETURN(
        array::ShardedArray sharded,
        array::ShardedArray::FromHost(host.view(), dtype, sharding, platform_));
    return ValueTree::Leaf(std::move(sharded));
  }

  std::optional<mesh::Mesh> mesh_;
  device::Platform& platform_;
};

Json ScalarJson(const tree::Scalar& scalar) {
  if (const auto* number = std::get_if<std::complex<double>>(&scalar)) {
    return {{"complex", {number->real(), number->imag()}}};
  }
  Json value;
  if (const auto* truth = std::get_if<bool>(&scalar)) value = *truth;
  if (const auto* integer = std::get_if<int64_t>(&scalar)) value = *integer;
  if (const auto* real = std::get_if<double>(&scalar)) value = *real;
  if (const auto* text = std::get_if<std::string>(&scalar)) value = *text;
  return {{"scalar", std::move(value)}};
}

Json KeyJson(const tree::DictKey& key) {
  return key.number() != nullptr ? Json(*key.number()) : Json(key.ToText());
}

// A tree as JSON, with leaf(value) at its leaves.
template <typename T, typename Fn>
absl::StatusOr<Json> TreeJson(const tree::Tree<T>& tree, Fn&& leaf) {
  if (tree.is_none()) return Json();
  if (tree.is_leaf()) return leaf(tree.leaf());
  Json children = Json::array();
  for (size_t i = 0; i < tree.children().size(); ++i) {
    const size_t child = tree.def()->GivenAt(i);
    TESSERA_ASSIGN_OR_RETURN(Json json, TreeJson(tree.children()[child], leaf));
    if (tree.is_mapping()) json = {KeyJson(tree.def()->keys[child]), std::move(json)};
    children.push_back(std::move(json));
  }
  const std::string kind(tree.is_mapping() ? "dict" : tree::NodeKindName(tree.kind()));
  return Json{{kind, std::move(children)}};
}

checkpoint::SaveCodec CodecOf(const std::string& name) {
  if (name == "none") return checkpoint::CodecList{};
  if (name == "blosc") return checkpoint::CodecList{codec::BloscSpec{.compressor = "zstd"}};
  // Measured however small the arrays are, for a drive so slow that compression pays.
  if (name == "auto") return checkpoint::AutoCodec{.storage = {1e6, 1e6}, .least_bytes = 1};
  return checkpoint::JaxCodec();
}

// eformer's file beside the arrays of the prefix.
absl::StatusOr<commit::SideFile> StructureFile(const ValueTree& tree,
                                               const checkpoint::PlanOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::SavePlan plan, checkpoint::PlanSave(tree, options, 1));
  std::vector<std::string> paths;
  for (const checkpoint::PlannedArray& planned : plan.arrays) paths.push_back(planned.record.path);
  int64_t arrays = 0;
  TESSERA_ASSIGN_OR_RETURN(const ledger::SavedTree saved,
                           tree::Map(tree, [&](const Value& value) -> ledger::SavedLeaf {
                             const auto* opaque = std::get_if<array::Opaque>(&value);
                             if (opaque == nullptr) return ledger::ArrayLeaf{arrays++};
                             return *opaque->scalar;
                           }));
  TESSERA_ASSIGN_OR_RETURN(const ledger::PytreeStructure structure,
                           ledger::MakePytreeStructure(saved, options.prefix, paths));
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeStructureFile(structure));
  return commit::SideFile{ledger::StructureFileName(options.prefix), Bytes::CopyOf(text)};
}

checkpoint::SafetensorsFormat TensorsOf(const Json& json) {
  checkpoint::SafetensorsFormat format{.stem = json.value("stem", "model")};
  if (json.contains("shard_bytes")) format.shard_bytes = json.at("shard_bytes").get<int64_t>();
  const Json metadata = json.value("metadata", Json::object());
  for (const auto& [name, text] : metadata.items()) format.metadata.emplace_back(name, text);
  return format;
}

absl::StatusOr<Json> RunSave(const Json& job, Tools& tools) {
  TESSERA_ASSIGN_OR_RETURN(auto mesh, MeshOf(job));
  TESSERA_ASSIGN_OR_RETURN(const ValueTree tree,
                           TreeReader(std::move(mesh), *tools.platform).Read(job.at("tree")));
  checkpoint::SaveOptions options;
  options.plan.prefix = job.value("prefix", "");
  options.plan.chunk_bytes = job.value("chunk_bytes", options.plan.chunk_bytes);
  options.plan.codec = CodecOf(job.value("codec", "jax"));
  if (job.contains("safetensors")) {
    options.plan.format = TensorsOf(job.at("safetensors"));
    options.plan.codec = checkpoint::AutoCodec{};
  }
  if (job.value("structure", false)) {
    TESSERA_ASSIGN_OR_RETURN(commit::SideFile file, StructureFile(tree, options.plan));
    options.side_files.push_back(std::move(file));
  }
  TESSERA_ASSIGN_OR_RETURN(
      const auto future,
      checkpoint::TreeSerializeLeaves(job.at("dir").get<std::string>(), tree, nullptr, options,
                                      {.io = &tools.io, .platform = tools.platform.get()}));
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::SaveReport report, future.Wait());
  return Json{{"arrays", report.arrays}, {"chunks", report.chunks}};
}

absl::StatusOr<checkpoint::LoadSettings> SettingsOf(const Json& job, Tools& tools) {
  checkpoint::LoadSettings settings;
  settings.open.prefix = job.value("prefix", "");
  settings.open.all_prefixes = job.value("all_prefixes", false);
  TESSERA_ASSIGN_OR_RETURN(settings.request.mesh, MeshOf(job));
  if (job.contains("rules")) {
    TESSERA_ASSIGN_OR_RETURN(settings.request.rules, mesh::PartitionRulesFromJson(job.at("rules")));
  }
  checkpoint::ShardingChoices::Items choices;
  const Json shardings = job.value("shardings", Json::object());
  for (const auto& [key, json] : shardings.items()) {
    TESSERA_ASSIGN_OR_RETURN(mesh::PartitionSpec spec, mesh::PartitionSpecFromJson(json, key));
    choices.emplace_back(key, checkpoint::ShardingChoice(std::move(spec)));
  }
  TESSERA_ASSIGN_OR_RETURN(settings.request.shardings,
                           checkpoint::ShardingChoices::Dict(std::move(choices)));
  settings.request.auto_correct = job.value("auto_correct", false);
  if (job.contains("cast")) {
    TESSERA_ASSIGN_OR_RETURN(settings.request.cast, ParseDType(job.at("cast").get<std::string>()));
  }
  settings.lent = {.io = &tools.io, .platform = tools.platform.get()};
  return settings;
}

// Writes the elements to `file`.
absl::StatusOr<Json> ArrayJson(const array::ShardedArray& array, const std::string& file,
                               const Tools& tools) {
  TESSERA_ASSIGN_OR_RETURN(const array::HostArray host, array::ToHost(array, *tools.platform));
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(host.dtype(), host.shape()));
  WriteFile(file, {reinterpret_cast<const char*>(host.view().data), static_cast<size_t>(bytes)});
  const auto* named = std::get_if<mesh::NamedSharding>(&array.sharding());
  return Json{{"array",
               {{"dtype", DTypeName(host.dtype())},
                {"shape", std::vector<int64_t>(host.shape().begin(), host.shape().end())},
                {"spec", named == nullptr ? Json() : mesh::ToJson(named->spec())},
                {"data", file}}}};
}

std::string_view IntegrityName(checkpoint::Integrity integrity) {
  switch (integrity) {
    case checkpoint::Integrity::kManifest:
      return "manifest";
    case checkpoint::Integrity::kSeal:
      return "seal";
    case checkpoint::Integrity::kNone:
      break;
  }
  return "none";
}

absl::StatusOr<Json> RunLoad(const Json& job, Tools& tools) {
  TESSERA_ASSIGN_OR_RETURN(const auto settings, SettingsOf(job, tools));
  const std::string dir = job.at("dir");
  TESSERA_ASSIGN_OR_RETURN(const auto opened,
                           checkpoint::Checkpoint::OpenAt(dir, tools.io, settings.open));
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::LoadResult loaded,
                           checkpoint::LoadFrom(dir, settings));
  const std::string out = job.at("out");
  std::filesystem::create_directories(out);
  int files = 0;
  TESSERA_ASSIGN_OR_RETURN(Json tree,
                           TreeJson(loaded.tree, [&](const Value& value) -> absl::StatusOr<Json> {
                             if (const auto* array = std::get_if<array::ShardedArray>(&value)) {
                               return ArrayJson(*array, Concat(out, "/", files++), tools);
                             }
                             return ScalarJson(*std::get<array::Opaque>(value).scalar);
                           }));
  return Json{{"tree", std::move(tree)},
              {"integrity", IntegrityName(opened.integrity())},
              {"indexed", opened.has_index()}};
}

absl::StatusOr<Json> RunStructure(const Json& job) {
  const std::string prefix = job.value("prefix", "");
  const std::string file =
      Concat(job.at("dir").get<std::string>(), "/", ledger::StructureFileName(prefix));
  TESSERA_ASSIGN_OR_RETURN(const auto structure,
                           ledger::DecodeStructureFile(ReadFile(file), prefix));
  TESSERA_ASSIGN_OR_RETURN(const ledger::RebuiltTree rebuilt, ledger::RebuildTree(structure));
  TESSERA_ASSIGN_OR_RETURN(
      Json tree, TreeJson(rebuilt.tree, [](const ledger::SavedLeaf& leaf) -> absl::StatusOr<Json> {
        if (const auto* record = std::get_if<ledger::ArrayLeaf>(&leaf)) {
          return Json{{"record", record->record}};
        }
        if (const auto* scalar = std::get_if<tree::Scalar>(&leaf)) return ScalarJson(*scalar);
        return Json{{"opaque", std::get<ledger::OpaqueLeaf>(leaf).type_name}};
      }));
  return Json{{"tree", std::move(tree)},
              {"paths", structure.array_paths},
              {"without_treedef", rebuilt.without_treedef.value_or("")}};
}

absl::StatusOr<Json> RunJudge(const Json& job, Tools& tools) {
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(job.at("dir")));
  Json errors = Json::array();
  for (const Json& file : job.at("files")) {
    const auto set = safetensors::FileSet::Open(*store, file.get<std::string>(), tools.io);
    errors.push_back(set.ok() ? Json() : Json(std::string(set.status().message())));
  }
  return Json{{"errors", std::move(errors)}};
}

absl::StatusOr<Json> RunConvert(const Json& job, Tools& tools) {
  convert::ConvertRequest request;
  TESSERA_ASSIGN_OR_RETURN(request.target.format,
                           convert::ParseTargetFormat(job.at("format").get<std::string>()));
  if (job.contains("shard_bytes"))
    request.target.shard_bytes = job.at("shard_bytes").get<int64_t>();
  if (job.contains("prefix")) request.target.prefix = job.at("prefix").get<std::string>();
  if (job.contains("transpose")) request.transposes.push_back({.pattern = job.at("transpose")});
  TESSERA_ASSIGN_OR_RETURN(
      const convert::ConvertReport report,
      convert::Convert(job.at("dir").get<std::string>(), job.at("to").get<std::string>(), request,
                       {.io = tools.io}));
  return Json{{"arrays", report.arrays}, {"nbytes", report.nbytes}};
}

absl::StatusOr<Json> RunSteps(store::KvStore& store) {
  TESSERA_ASSIGN_OR_RETURN(const steps::Catalogue catalogue, steps::ReadCatalogue(store, ""));
  Json found = Json::array();
  for (const steps::StepInfo& info : catalogue.steps) found.push_back(info.path);
  return Json{
      {"steps", std::move(found)},
      {"latest", catalogue.latest ? Json(catalogue.steps[*catalogue.latest].path) : Json()}};
}

absl::StatusOr<Json> Run(const Json& job, Tools& tools) {
  const std::string what = job.at("do");
  if (what == "save") return RunSave(job, tools);
  if (what == "load") return RunLoad(job, tools);
  if (what == "structure") return RunStructure(job);
  if (what == "judge") return RunJudge(job, tools);
  if (what == "convert") return RunConvert(job, tools);
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(job.at("dir")));
  if (what == "steps") return RunSteps(*store);
  if (what == "verify") {
    TESSERA_ASSIGN_OR_RETURN(const auto report, checkpoint::VerifyCheckpoint(*store, tools.io));
    return Json::parse(checkpoint::ToJson(report).dump());
  }
  if (what != "seal") return InvalidArgument("unknown job: ", what);
  TESSERA_ASSIGN_OR_RETURN(const auto report, checkpoint::SealCheckpoint(*store, tools.io));
  return Json{{"sealed", report.sealed}, {"had_seal", report.had_seal}};
}

int Main(const char* jobs_file, const char* results_file) {
  const auto jobs = ParseJson(ReadFile(jobs_file));
  auto platform = device::MakeHostPlatform({.count = 8});
  if (!jobs.ok() || !platform.ok()) {
    std::fprintf(stderr, "%s: %s\n", jobs_file, jobs.status().ToString().c_str());
    return 2;
  }
  Tools tools;
  tools.platform = *std::move(platform);
  Json results = Json::array();
  for (const Json& job : *jobs) {
    absl::StatusOr<Json> result = Run(job, tools);
    if (!result.ok()) {
      const absl::Status& status = result.status();
      result = Json{{"error",
                     {{"code", absl::StatusCodeToString(status.code())},
                      {"message", std::string(status.message())}}}};
    }
    results.push_back(*std::move(result));
  }
  WriteFile(results_file, results.dump());
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: checkpoint_peer JOBS.json RESULTS.json\n");
    return 2;
  }
  return tessera::Main(arguments[1], arguments[2]);
}
