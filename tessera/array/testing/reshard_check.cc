#include "tessera/array/testing/reshard_check.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tessera/array/local_shards.h"
#include "tessera/array/reshard.h"
#include "tessera/array/reshard_agreement.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/device/testing/far_platform.h"

namespace tessera::array::testing {
namespace {

using Memory = std::vector<std::byte>;

Memory RandomBytes(uint64_t seed, int64_t count) {
  std::mt19937_64 random(seed);
  Memory bytes(static_cast<size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// The bytes of a box, taken element by element.
Memory NaiveBox(const ConstStridedView& whole, const Box& box) {
  Memory bytes;
  const int64_t count = *box.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    const std::byte* element = whole.data;
    for (int d = box.rank() - 1; d >= 0; --d) {
      element += (box.begin(d) + rest % box.shape()[d]) * whole.strides[d];
      rest /= box.shape()[d];
    }
    bytes.insert(bytes.end(), element, element + whole.element_bytes);
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<device::Platform>> PlatformOf(const ReshardCase& example, int rank,
                                                             DeviceKind kind) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < example.process_of.size(); ++i) {
    if (example.process_of[i] == rank) ids.push_back(static_cast<int64_t>(i));
  }
  if (kind == DeviceKind::kFar) {
    return std::make_unique<device::testing::FarPlatform>(rank, ids);
  }
  return device::MakeHostPlatform(
      {.count = static_cast<int64_t>(ids.size()), .process = rank, .ids = ids});
}

// Shards whose elements lie in column-major order, which no dense copy can take.
absl::StatusOr<ShardedArray> Turned(const ConstStridedView& whole, const ReshardCase& example,
                                    device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<LocalShard> local,
                           FindLocalShards(example.from, whole.shape, platform));
  std::vector<Piece> pieces;
  for (const LocalShard& shard : local) {
    const Box& box = shard.placed.box;
    TESSERA_ASSIGN_OR_RETURN(device::WritableBuffer buffer,
                             AllocateShard(shard, example.array.dtype));
    const Dims strides = ColumnMajorStrides(box.shape(), whole.element_bytes);
    TESSERA_RETURN_IF_ERROR(CopyStrided(
        SubView(whole, box), {buffer.data(), box.shape(), strides, whole.element_bytes}));
    pieces.push_back({shard.placed.device.id,
                      {box.shape(), example.array.dtype},
                      std::move(buffer).Publish(),
                      strides,
                      box});
  }
  return ShardedArray::FromPieces(example.array, example.from, platform, std::move(pieces));
}

absl::Status CheckShards(const ShardedArray& result, const ReshardCase& example,
                         const ConstStridedView& whole, const device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<LocalShard> expected,
                           FindLocalShards(example.to, example.array.shape, platform));
  if (result.shards().size() != expected.size() || result.sharding() != example.to) {
    return Internal("got ", result.shards().size(), " shards, expected ", expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const Shard& shard = result.shards()[i];
    if (shard.device != expected[i].placed.device || shard.box != expected[i].placed.box) {
      return Internal("shard ", i, " is that of device ", shard.device.id);
    }
    const ConstStridedView view = shard.View(result.dtype());
    const std::string got = Sha256Text(NaiveBox(view, Box::Whole(view.shape)));
    const std::string want = Sha256Text(NaiveBox(whole, shard.box));
    if (got == want) continue;
    return Internal(ShardForMessage(expected[i].placed), ": hash ", got, ", expected ", want);
  }
  return absl::OkStatus();
}

const Shard* ShardOn(const ShardedArray& array, int64_t device) {
  for (const Shard& shard : array.shards()) {
    if (shard.device.id == device) return &shard;
  }
  return nullptr;
}

absl::Status CheckKept(const ReshardPlan& plan, const ShardedArray& source,
                       const ShardedArray& result, int rank) {
  for (const KeptShard& kept : plan.kept) {
    const mesh::Device device = plan.targets[static_cast<size_t>(kept.target)].device;
    if (device.process != rank) continue;
    const Shard* before = ShardOn(source, device.id);
    const Shard* after = ShardOn(result, device.id);
    if (before->buffer.data() == after->buffer.data() && before->strides == after->strides) {
      continue;
    }
    return Internal("device ", device.id, " was to keep its shard, which has moved");
  }
  return absl::OkStatus();
}

absl::Status CheckStaging(const ReshardPlan& plan, const ByteBudget& staging, int rank) {
  int64_t planned = 0;
  for (const ProcessTotals& totals : plan.totals) {
    if (totals.process == rank) planned = totals.peak_staging_bytes;
  }
  if (staging.peak() <= planned && planned <= staging.limit() && staging.in_use() == 0) {
    return absl::OkStatus();
  }
  return Internal("peak staging ", staging.peak(), ", planned ", planned, ", budget ",
                  staging.limit(), ", still in use ", staging.in_use());
}

absl::Status CheckNothingLeft(const device::Platform& platform) {
  for (const auto& device : platform.devices()) {
    if (device->in_use() != 0) {
      return Internal("device ", device->id(), " still counts ", device->in_use(), " bytes");
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const ReshardCase& example, comm::Comm& comm, device::Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(example.array.dtype, example.array.shape));
  const Memory memory = RandomBytes(example.seed, bytes);
  const ConstStridedView whole =
      RowMajorView(memory.data(), example.array.shape, DTypeBytes(example.array.dtype));
  TESSERA_ASSIGN_OR_RETURN(
      const ShardedArray source,
      example.seed % 3 == 0
          ? Turned(whole, example, platform)
          : ShardedArray::FromHost(whole, example.array.dtype, example.from, platform));
  TESSERA_ASSIGN_OR_RETURN(
      const ReshardPlan plan,
      PlanReshard(example.array, example.from, example.to, {.budget_bytes = example.budget_bytes}));
  const CommonValue text{"the plan", plan.Text()};
  TESSERA_RETURN_IF_ERROR(AgreeOnValues({&text, 1}, comm, {}));
  ByteBudget staging(example.budget_bytes);
  TESSERA_ASSIGN_OR_RETURN(const ShardedArray result,
                           ExecuteReshard(plan, source, example.to, platform, comm, staging, {}));
  TESSERA_RETURN_IF_ERROR(CheckShards(result, example, whole, platform));
  TESSERA_RETURN_IF_ERROR(CheckKept(plan, source, result, comm.rank()));
  TESSERA_RETURN_IF_ERROR(CheckStaging(plan, staging, comm.rank()));
  // And back again, by the function that makes the plan itself.
  TESSERA_ASSIGN_OR_RETURN(
      const ShardedArray back,
      Reshard(result, example.from, platform, comm, {.budget_bytes = example.budget_bytes}));
  ReshardCase reversed = example;
  std::swap(reversed.from, reversed.to);
  return CheckShards(back, reversed, whole, platform);
}

}  // namespace

absl::Status CheckReshard(const ReshardCase& example, comm::Comm& comm, DeviceKind kind) {
  TESSERA_ASSIGN_OR_RETURN(const auto platform, PlatformOf(example, comm.rank(), kind));
  absl::Status status = Check(example, comm, *platform);
  if (status.ok()) status = CheckNothingLeft(*platform);
  return status.ok() ? status : Prefixed(status, example.Text());
}

absl::Status CheckReshards(uint64_t first, int count, comm::Comm& comm, DeviceKind kind) {
  for (int i = 0; i < count; ++i) {
    const ReshardCase example = MakeReshardCase(first + static_cast<uint64_t>(i), comm.size());
    TESSERA_RETURN_IF_ERROR(CheckReshard(example, comm, kind));
  }
  return absl::OkStatus();
}

}  // namespace tessera::array::testing
