#include "bench/ours/state.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "bench/ours/worker.h"
#include "tessera/array/to_host.h"
#include "tessera/core/status.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/flatten.h"

namespace tessera::bench {
namespace {

mesh::PartitionSpec SpecFor(const ledger::ArrayRecord& record, std::string_view how) {
  if (record.shape.size() < 2 || how == "whole") return {};
  if (how == "rows") return {"x"};
  return {nullptr, "x"};
}

}  // namespace

absl::StatusOr<checkpoint::LoadResult> LoadState(const std::string& from, const Layout& layout,
                                                 bool verify, device::Platform& platform,
                                                 IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const mesh::Mesh mesh, mesh::Mesh::MakeHost({{"x", layout.devices}}));
  const checkpoint::ShardingFunction choose =
      [&](const ledger::ArrayRecord& record) -> absl::StatusOr<checkpoint::ChosenSharding> {
    TESSERA_ASSIGN_OR_RETURN(auto sharding,
                             mesh::NamedSharding::Make(mesh, SpecFor(record, layout.how)));
    return checkpoint::ChosenSharding(std::move(sharding));
  };
  return checkpoint::Load(from)
      .AllPrefixes()
      .Mesh(mesh)
      .Shardings(checkpoint::ShardingChoices::Leaf(choose))
      .Verify(verify)
      .On(platform)
      .With(io)
      .Run();
}

absl::StatusOr<checkpoint::LoadResult> LoadWhole(const std::string& from,
                                                 device::Platform& platform, IoContext& io) {
  return checkpoint::Load(from).AllPrefixes().Verify(false).On(platform).With(io).Run();
}

absl::StatusOr<std::vector<NamedArray>> ArraysOf(const array::ValueTree& tree) {
  TESSERA_ASSIGN_OR_RETURN(const auto flat, tree::FlattenWithPath(tree));
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    // The others are plain values that a save has kept beside its arrays.
    const auto* array = std::get_if<array::ShardedArray>(&flat.leaves[i]->leaf());
    if (array != nullptr) arrays.push_back({flat.paths[i].Slashed(), *array});
  }
  std::sort(arrays.begin(), arrays.end(),
            [](const NamedArray& a, const NamedArray& b) { return a.name < b.name; });
  return arrays;
}

absl::StatusOr<int64_t> PayloadBytes(std::span<const NamedArray> arrays) {
  int64_t sum = 0;
  for (const NamedArray& each : arrays) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(each.array.dtype(), each.array.shape()));
    sum += bytes;
  }
  return sum;
}

absl::StatusOr<std::string> DigestOf(std::span<const NamedArray> arrays,
                                     const device::Platform& platform) {
  Digest digest;
  for (const NamedArray& each : arrays) {
    TESSERA_ASSIGN_OR_RETURN(const array::HostArray whole,
                             array::ToHost(each.array, platform, {.share = true}));
    TESSERA_RETURN_IF_ERROR(digest.Add(whole.view()));
  }
  return digest.Hex();
}

}  // namespace tessera::bench
