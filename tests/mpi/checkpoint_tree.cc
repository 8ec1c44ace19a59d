#include "tests/mpi/checkpoint_tree.h"

#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/walk.h"

namespace tessera::mpi {
namespace {

absl::StatusOr<array::ValueTree> Sharded(const Dims& shape, int32_t first, mesh::PartitionSpec spec,
                                         const mesh::Mesh& mesh, device::Platform& platform) {
  std::vector<int32_t> values(static_cast<size_t>(*NumElements(shape)));
  std::iota(values.begin(), values.end(), first);
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  TESSERA_ASSIGN_OR_RETURN(const auto sharding, mesh::NamedSharding::Make(mesh, std::move(spec)));
  TESSERA_ASSIGN_OR_RETURN(
      auto array, array::ShardedArray::FromHost(RowMajorView(data, shape, 4), DType::kInt32,
                                                sharding, platform));
  return array::ValueTree(array::Value(std::move(array)));
}

}  // namespace

mesh::Mesh MeshOver(int64_t x, int64_t y) {
  std::vector<mesh::Device> devices;
  for (int64_t d = 0; d < x * y; ++d) devices.push_back({d, static_cast<int>(d)});
  return *mesh::Mesh::Make({{"x", x}, {"y", y}}, devices);
}

std::unique_ptr<device::Platform> PlatformOf(int rank) {
  return *device::MakeHostPlatform({.process = rank, .ids = {rank}});
}

absl::StatusOr<array::ValueTree> TreeOn(const mesh::Mesh& mesh, device::Platform& platform,
                                        int generation) {
  const int32_t first = generation * 1'000'003;
  // Generations have shapes of their own, too.
  const int64_t rows = 24 + 12 * (generation % 3);
  TESSERA_ASSIGN_OR_RETURN(auto both, Sharded({rows, 36}, first, {"x", "y"}, mesh, platform));
  TESSERA_ASSIGN_OR_RETURN(auto some, Sharded({12, rows}, first + 1, {"x"}, mesh, platform));
  TESSERA_ASSIGN_OR_RETURN(auto cols, Sharded({12, 12}, first + 2, {{}, "y"}, mesh, platform));
  TESSERA_ASSIGN_OR_RETURN(auto all, Sharded({7}, first + 3, {}, mesh, platform));
  return array::ValueTree::MakeDict(
      {{"all", std::move(all)},
       {"both", std::move(both)},
       {"inner", array::ValueTree::List({std::move(some), std::move(cols)})}});
}

absl::StatusOr<Hashes> HashesOf(const array::ValueTree& tree, const device::Platform& platform,
                                comm::Comm& comm) {
  Hashes hashes;
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeaf(
      tree, [&](const tree::KeyPathView& path, const array::Value& value) -> absl::Status {
        const auto* array = std::get_if<array::ShardedArray>(&value);
        if (array == nullptr) return Internal(path.Dotted(), " is no array");
        TESSERA_ASSIGN_OR_RETURN(const array::HostArray whole,
                                 array::ToHost(*array, platform, comm));
        if (!array::IsDense(whole.view())) return Internal(path.Dotted(), " is not dense");
        TESSERA_ASSIGN_OR_RETURN(const int64_t size, NumBytes(whole.dtype(), whole.shape()));
        const std::span<const std::byte> bytes(whole.view().data, static_cast<size_t>(size));
        hashes[path.Dotted()] =
            Concat(DTypeName(whole.dtype()), ShapeText(whole.shape()), " ", HashOf(bytes).Hex());
        return absl::OkStatus();
      }));
  return hashes;
}

}  // namespace tessera::mpi
