// Saves a small state from a 2x4 mesh, loads it onto another one, and checks that not a byte is
// lost.
//
//   save_and_load [FOLDER]
//
// The folder can be read by eformer and JAX.  Without one the checkpoint goes to a temporary folder
// and is deleted in the end.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/file_store.h"

namespace {

using tessera::Dims;
using tessera::array::ValueTree;
namespace checkpoint = tessera::checkpoint;
namespace mesh = tessera::mesh;

// Two arrays on 8 devices, and a number.
absl::StatusOr<ValueTree> MakeState(tessera::device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const auto train, mesh::ParseMesh("dp=2,tp=4"));
  TESSERA_ASSIGN_OR_RETURN(const auto split, mesh::NamedSharding::Make(train, {"dp", "tp"}));
  const auto ones = [](const tessera::Box&, const tessera::StridedView& target) {
    auto* values = reinterpret_cast<float*>(target.data);
    for (int64_t i = 0; i < *tessera::NumElements(target.shape); ++i) values[i] = 1.0F;
    return absl::OkStatus();
  };
  using tessera::array::ShardedArray;
  TESSERA_ASSIGN_OR_RETURN(
      const auto kernel,
      ShardedArray::FromCallback({{64, 256}, tessera::DType::kFloat32}, split, platform, ones));
  TESSERA_ASSIGN_OR_RETURN(
      const auto bias,
      ShardedArray::FromCallback({{256}, tessera::DType::kFloat32},
                                 mesh::NamedSharding::Replicated(train), platform, ones));
  return ValueTree::Dict({{"dense", ValueTree::MakeDict({{"kernel", kernel}, {"bias", bias}})},
                          {"step", tessera::array::MakeScalar(int64_t{1000})}});
}

absl::Status Run(const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const auto platform, tessera::device::MakeHostPlatform({.count = 8}));
  TESSERA_ASSIGN_OR_RETURN(const ValueTree state, MakeState(*platform));

  // The call returns once the state is copied; writing and the commit happen behind it.
  checkpoint::Saver saver({.platform = platform.get()});
  TESSERA_ASSIGN_OR_RETURN(const auto saved,
                           checkpoint::Save(state).To(folder).Prefix("model").Start(saver));
  TESSERA_RETURN_IF_ERROR(saver.WaitUntilFinished());
  std::printf("saved %d arrays, %d bytes\n", int((*saved.Wait()).arrays),
              int((*saved.Wait()).nbytes));

  TESSERA_ASSIGN_OR_RETURN(const auto serve, mesh::ParseMesh("tp=8"));
  const std::vector<mesh::PartitionRule> rules = {{"kernel$", {nullptr, "tp"}}, {".*", {}}};
  TESSERA_ASSIGN_OR_RETURN(
      const auto loaded,
      checkpoint::Load(folder).Prefix("model").Mesh(serve).Rules(rules).On(*platform).Run());
  std::printf("%s\n", loaded.report.Text().c_str());
  const auto& kernel = *loaded.tree.Find("dense")->Find("kernel");
  for (const auto& shard : std::get<tessera::array::ShardedArray>(kernel.leaf()).shards()) {
    std::printf("device %d holds %s\n", int(shard.device.id), shard.box.Text().c_str());
  }

  TESSERA_ASSIGN_OR_RETURN(const auto store, tessera::store::OpenFileStore(folder));
  tessera::IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const auto report, checkpoint::VerifyCheckpoint(*store, io));
  for (const auto& problem : report.problems) {
    std::printf("%s: %s\n", problem.file.c_str(), problem.problem.c_str());
  }
  std::printf("verified %d arrays, %d chunks: %s\n", int(report.arrays), int(report.chunks),
              report.ok() ? "whole" : "damaged");
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path own =
      std::filesystem::temp_directory_path() / ("tessera-example-" + std::to_string(getpid()));
  const absl::Status status = Run(argc > 1 ? argv[1] : own.string());
  if (argc == 1) std::filesystem::remove_all(own);
  if (status.ok()) return 0;
  std::fprintf(stderr, "save_and_load: %s\n", std::string(status.message()).c_str());
  return 1;
}
