// Saves the weights of a small transformer from a 2x4 mesh: something to look at with the tessera
// command, as tools/demo does.
//
//   save_model [FOLDER]
//
// Without a folder it goes to a temporary one and is deleted in the end.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/device/host_platform.h"

namespace {

using tessera::array::ValueTree;
namespace mesh = tessera::mesh;

constexpr int kLayers = 12;
constexpr int64_t kHidden = 256;
constexpr int64_t kVocabulary = 4096;

// Makes arrays of bfloat16 with made-up values, split over the mesh.
class Weights {
 public:
  Weights(const mesh::Mesh& mesh, tessera::device::Platform& platform)
      : mesh_(mesh), platform_(platform) {}

  absl::StatusOr<ValueTree> Make(tessera::Dims shape, mesh::PartitionSpec spec) {
    TESSERA_ASSIGN_OR_RETURN(const auto sharding, mesh::NamedSharding::Make(mesh_, spec));
    const auto fill = [this](const tessera::Box&, const tessera::StridedView& target) {
      auto* values = reinterpret_cast<uint16_t*>(target.data);
      for (int64_t i = 0; i < *tessera::NumElements(target.shape); ++i) {
        seed_ = seed_ * 1664525 + 1013904223;
        // A sign, an exponent near that of 1/8, and bits below.
        values[i] = static_cast<uint16_t>((seed_ >> 16 & 0x8000) | (0x3D00 + (seed_ >> 24)));
      }
      return absl::OkStatus();
    };
    TESSERA_ASSIGN_OR_RETURN(
        auto array, tessera::array::ShardedArray::FromCallback(
                        {std::move(shape), tessera::DType::kBfloat16}, sharding, platform_, fill));
    return ValueTree::Leaf(std::move(array));
  }

 private:
  const mesh::Mesh& mesh_;
  tessera::device::Platform& platform_;
  uint32_t seed_ = 1;
};

absl::StatusOr<ValueTree> MakeLayer(Weights& weights) {
  ValueTree::Items attention;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    TESSERA_ASSIGN_OR_RETURN(auto kernel, weights.Make({kHidden, kHidden}, {nullptr, "tp"}));
    attention.emplace_back(name, ValueTree::MakeDict({{"kernel", std::move(kernel)}}));
  }
  TESSERA_ASSIGN_OR_RETURN(auto out, weights.Make({kHidden, kHidden}, {"tp", nullptr}));
  attention.emplace_back("o_proj", ValueTree::MakeDict({{"kernel", std::move(out)}}));
  TESSERA_ASSIGN_OR_RETURN(auto up, weights.Make({kHidden, 4 * kHidden}, {nullptr, "tp"}));
  TESSERA_ASSIGN_OR_RETURN(auto down, weights.Make({4 * kHidden, kHidden}, {"tp", nullptr}));
  TESSERA_ASSIGN_OR_RETURN(auto scale, weights.Make({kHidden}, {}));
  return ValueTree::MakeDict(
      {{"attn", ValueTree::MakeDict(std::move(attention))},
       {"mlp", ValueTree::MakeDict({{"up", std::move(up)}, {"down", std::move(down)}})},
       {"norm", std::move(scale)}});
}

absl::Status Run(const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const auto platform, tessera::device::MakeHostPlatform({.count = 8}));
  TESSERA_ASSIGN_OR_RETURN(const auto train, mesh::ParseMesh("dp=2,tp=4"));
  Weights weights(train, *platform);
  ValueTree::Items layers;
  for (int i = 0; i < kLayers; ++i) {
    TESSERA_ASSIGN_OR_RETURN(auto layer, MakeLayer(weights));
    layers.emplace_back(std::to_string(i), std::move(layer));
  }
  TESSERA_ASSIGN_OR_RETURN(auto embedding, weights.Make({kVocabulary, kHidden}, {"tp", nullptr}));
  const ValueTree state = ValueTree::MakeDict(
      {{"embedding", std::move(embedding)}, {"layers", ValueTree::MakeDict(std::move(layers))}});
  tessera::checkpoint::Saver saver({.platform = platform.get()});
  TESSERA_ASSIGN_OR_RETURN(
      const auto saved, tessera::checkpoint::Save(state).To(folder).Prefix("model").Start(saver));
  TESSERA_RETURN_IF_ERROR(saver.WaitUntilFinished());
  TESSERA_ASSIGN_OR_RETURN(const auto report, saved.Wait());
  std::printf("saved %d arrays, %d bytes\n", int(report.arrays), int(report.nbytes));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path own =
      std::filesystem::temp_directory_path() / ("tessera-example-" + std::to_string(getpid()));
  const absl::Status status = Run(argc > 1 ? argv[1] : own.string());
  if (argc == 1) std::filesystem::remove_all(own);
  if (status.ok()) return 0;
  std::fprintf(stderr, "save_model: %s\n", std::string(status.message()).c_str());
  return 1;
}
