#include "tessera/array/reshard.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/device_copies.h"
#include "tessera/array/host_array.h"
#include "tessera/array/local_shards.h"
#include "tessera/array/reshard_agreement.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// A part of `box`, whose elements `view` looks at.
template <typename Byte>
BasicStridedView<Byte> PartOf(const BasicStridedView<Byte>& view, const Box& box, const Box& part) {
  return SubView(view, RelativeTo(part, box.origin()));
}

// A source shard of this process.
struct Held {
  const Shard* shard = nullptr;
  device::Device* device = nullptr;
};

// A target shard that is being filled.
struct Fresh {
  LocalShard local;
  device::WritableBuffer buffer;
};

// Memory for one direction of a round, handed out piece by piece.
class Arena {
 public:
  void Reset() { used_ = 0; }
  std::span<std::byte> Take(int64_t bytes) {
    const std::span memory(buffer_.data() + used_, static_cast<size_t>(bytes));
    used_ += bytes;
    return memory;
  }
  void Use(device::WritableBuffer buffer) { buffer_ = std::move(buffer); }

 private:
  device::WritableBuffer buffer_;
  int64_t used_ = 0;
};

// What this rank does of a plan.
class Execution {
 public:
  Execution(const ReshardPlan& plan, const ShardedArray& source, device::Platform& platform)
      : plan_(plan), source_(source), platform_(platform), dtype_(plan.array.dtype) {}

  // Memory for all that comes, so that nothing can be missing once data moves.
  absl::Status Prepare(const mesh::Sharding& target, int rank, ByteBudget& budget) {
    if (platform_.process() != rank) {
      return InvalidArgument("the platform is that of process ", platform_.process(),
                             ", expected the rank's");
    }
    TESSERA_RETURN_IF_ERROR(FindSources());
    TESSERA_RETURN_IF_ERROR(AllocateTargets(target));
    FindMyTransfers();
    return AllocateStaging(budget);
  }

  absl::Status CopyLocal() {
    std::vector<const LocalCopy*> mine;
    mine.reserve(plan_.copies.size());
    for (const LocalCopy& copy : plan_.copies) {
      if (IsMine(plan_.targets[Index(copy.target)])) mine.push_back(&copy);
    }
    const auto bytes_of = [&](int64_t i) { return mine[Index(i)]->bytes; };
    const auto make = [&](int64_t i) -> DeviceCopy {
      const LocalCopy& copy = *mine[Index(i)];
      return {SourceSide(copy.source, copy.box), TargetSide(copy.target, copy.box)};
    };
    return RunCopies({static_cast<int64_t>(mine.size()), bytes_of, make});
  }

  // One exchange with all ranks.  An error of this rank alone goes to `mine`, and the rank takes
  // part nevertheless, since the others count on it.
  absl::Status RunRound(int64_t round, comm::Comm& comm, const comm::Limit& limit,
                        absl::Status& mine) {
    arena_.Reset();
    std::vector<comm::Send> sends;
    std::vector<comm::Receive> receives;
    std::vector<DeviceCopy> packs, unpacks;
    for (const BoxTransfer* transfer : TransfersOf(round)) {
      if (IsMine(plan_.sources[Index(transfer->source)])) {
        sends.push_back(Pack(*transfer, packs));
      } else {
        receives.push_back(Unpack(*transfer, unpacks));
      }
    }
    if (mine.ok()) mine = RunCopies(packs);
    TESSERA_RETURN_IF_ERROR(comm.Exchange(sends, receives, limit));
    if (mine.ok()) mine = RunCopies(unpacks);
    return absl::OkStatus();
  }

  absl::StatusOr<ShardedArray> Finish(const mesh::Sharding& target) && {
    std::vector<Piece> pieces;
    for (const KeptShard& kept : plan_.kept) {
      const mesh::DeviceShard& shard = plan_.targets[Index(kept.target)];
      if (!IsMine(shard)) continue;
      const Shard& before = *sources_[Index(kept.source)].shard;
      pieces.push_back(
          {shard.device.id, {shard.box.shape(), dtype_}, before.buffer, before.strides, {}});
    }
    for (std::optional<Fresh>& fresh : fresh_) {
      if (!fresh.has_value()) continue;
      const mesh::DeviceShard& shard = fresh->local.placed;
      pieces.push_back({shard.device.id,
                        {shard.box.shape(), dtype_},
                        std::move(fresh->buffer).Publish(),
                        {},
                        {}});
    }
    return ShardedArray::FromPieces(plan_.array, target, platform_, std::move(pieces));
  }

 private:
  static size_t Index(int64_t position) { return static_cast<size_t>(position); }
  bool IsMine(const mesh::DeviceShard& shard) const {
    return shard.device.process == platform_.process();
  }

  absl::Status FindSources() {
    absl::flat_hash_map<int64_t, const Shard*> by_device;
    for (const Shard& shard : source_.shards()) by_device.emplace(shard.device.id, &shard);
    sources_.resize(plan_.sources.size());
    for (size_t i = 0; i < plan_.sources.size(); ++i) {
      if (!IsMine(plan_.sources[i])) continue;
      const auto found = by_device.find(plan_.sources[i].device.id);
      device::Device* const device = platform_.Find(plan_.sources[i].device.id);
      if (found == by_device.end() || device == nullptr) {
        return NotFound(ShardForMessage(plan_.sources[i]), ": process ", platform_.process(),
                        " has no such shard of the source");
      }
      sources_[i] = {found->second, device};
      any_device_ = device;
    }
    return absl::OkStatus();
  }

  absl::Status AllocateTargets(const mesh::Sharding& target) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<LocalShard> local,
                             FindLocalShards(target, plan_.array.shape, platform_));
    std::vector<bool> kept(plan_.targets.size(), false);
    for (const KeptShard& shard : plan_.kept) kept[Index(shard.target)] = true;
    fresh_.resize(plan_.targets.size());
    size_t next = 0;
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
      if (!IsMine(plan_.targets[i])) continue;
      LocalShard& shard = local[next++];
      any_device_ = shard.device;
      if (kept[i]) continue;
      TESSERA_ASSIGN_OR_RETURN(device::WritableBuffer buffer, AllocateShard(shard, dtype_));
      fresh_[i] = {std::move(shard), std::move(buffer)};
    }
    return absl::OkStatus();
  }

  void FindMyTransfers() {
    for (const BoxTransfer& transfer : plan_.transfers) {
      if (IsMine(plan_.sources[Index(transfer.source)]) ||
          IsMine(plan_.targets[Index(transfer.targets.front())])) {
        transfers_.push_back(&transfer);
      }
    }
  }

  std::span<const BoxTransfer* const> TransfersOf(int64_t round) const {
    const auto begin =
        std::partition_point(transfers_.begin(), transfers_.end(),
                             [&](const BoxTransfer* transfer) { return transfer->round < round; });
    const auto end =
        std::partition_point(begin, transfers_.end(),
                             [&](const BoxTransfer* transfer) { return transfer->round == round; });
    return {begin, end};
  }

  absl::Status AllocateStaging(ByteBudget& budget) {
    int64_t peak = 0, bytes = 0, round = -1;
    for (const BoxTransfer* transfer : transfers_) {
      if (transfer->round != round) bytes = 0;
      round = transfer->round;
      bytes += NeedsStaging(*transfer) ? transfer->bytes : 0;
      peak = std::max(peak, bytes);
    }
    if (peak == 0) return absl::OkStatus();
    TESSERA_ASSIGN_OR_RETURN(reservation_, budget.Acquire(peak));
    TESSERA_ASSIGN_OR_RETURN(device::WritableBuffer buffer, any_device_->AllocateStaging(peak));
    arena_.Use(std::move(buffer));
    return absl::OkStatus();
  }

  // A box that lies dense in memory that the host can reach is sent and received in place.
  bool NeedsStaging(const BoxTransfer& transfer) const {
    if (IsMine(plan_.sources[Index(transfer.source)])) {
      const auto side = SourceSide(transfer.source, transfer.box);
      return !side.host_visible || !IsDense(side.view);
    }
    const auto side = TargetSide(transfer.targets.front(), transfer.box);
    return !side.host_visible || !IsDense(AsConst(side.view));
  }

  comm::Send Pack(const BoxTransfer& transfer, std::vector<DeviceCopy>& packs) {
    const int to = plan_.targets[Index(transfer.targets.front())].device.process;
    CopySide<const std::byte> side = SourceSide(transfer.source, transfer.box);
    const auto size = static_cast<size_t>(transfer.bytes);
    if (!NeedsStaging(transfer)) return {to, {side.view.data, size}};
    const std::span<std::byte> memory = arena_.Take(transfer.bytes);
    packs.push_back({std::move(side), {Staged(memory.data(), transfer.box)}});
    return {to, memory};
  }

  comm::Receive Unpack(const BoxTransfer& transfer, std::vector<DeviceCopy>& unpacks) {
    const int from = plan_.sources[Index(transfer.source)].device.process;
    const bool staged = NeedsStaging(transfer);
    const std::span<std::byte> memory =
        staged ? arena_.Take(transfer.bytes)
               : std::span(TargetSide(transfer.targets.front(), transfer.box).view.data,
                           static_cast<size_t>(transfer.bytes));
    const std::byte* const received = memory.data();
    for (size_t i = staged ? 0 : 1; i < transfer.targets.size(); ++i) {
      unpacks.push_back(
          {{Staged(received, transfer.box)}, TargetSide(transfer.targets[i], transfer.box)});
    }
    return {from, memory};
  }

  template <typename Byte>
  BasicStridedView<Byte> Staged(Byte* data, const Box& box) const {
    return RowMajorView(data, box.shape(), DTypeBytes(dtype_));
  }

  CopySide<const std::byte> SourceSide(int64_t position, const Box& box) const {
    const auto& [shard, device] = sources_[Index(position)];
    return {PartOf(shard->View(dtype_), shard->box, box), device,
            shard->buffer.placement().host_visible};
  }

  CopySide<std::byte> TargetSide(int64_t position, const Box& box) const {
    const Fresh& fresh = *fresh_[Index(position)];
    const Box& whole = fresh.local.placed.box;
    return {PartOf(Staged(fresh.buffer.data(), whole), whole, box), fresh.local.device,
            fresh.buffer.placement().host_visible};
  }

  const ReshardPlan& plan_;
  const ShardedArray& source_;
  device::Platform& platform_;
  const DType dtype_;
  // By position in the plan; nothing where they are another process's, or kept.
  std::vector<Held> sources_;
  std::vector<std::optional<Fresh>> fresh_;
  device::Device* any_device_ = nullptr;
  std::vector<const BoxTransfer*> transfers_;  // that this process takes part in, by round
  ByteBudget::Reservation reservation_;
  Arena arena_;
};

// The sharding with all that two of them can differ in.
std::string WholeText(const mesh::Sharding& sharding) {
  std::string text = Concat(mesh::ShardingText(sharding), " on devices");
  for (const mesh::Device& device : mesh::DevicesOf(sharding)) {
    text += Concat(" ", device.id, "@", device.process);
  }
  const auto* named = std::get_if<mesh::NamedSharding>(&sharding);
  const std::string& kind = named != nullptr
                                ? named->memory_kind()
                                : std::get<mesh::SingleDeviceSharding>(sharding).memory_kind;
  return kind.empty() ? text : Concat(text, " in ", kind, " memory");
}

absl::Status AgreeOnArguments(const ShardedArray& source, const mesh::Sharding& target,
                              comm::Comm& comm, const ReshardOptions& options) {
  const std::array<CommonValue, 5> values = {{
      {"the shape", ShapeText(source.shape())},
      {"the dtype", std::string(DTypeName(source.dtype()))},
      {"the source's sharding", WholeText(source.sharding())},
      {"the target's sharding", WholeText(target)},
      {"budget_bytes", Concat(options.budget_bytes)},
  }};
  return AgreeOnValues(values, comm, options.limit);
}

// Every rank finds the same, as every rank has the same plan.
absl::Status CheckProcesses(const ReshardPlan& plan, int ranks) {
  for (const auto* shards : {&plan.sources, &plan.targets}) {
    for (const mesh::DeviceShard& shard : *shards) {
      if (shard.device.process >= 0 && shard.device.process < ranks) continue;
      return InvalidArgument("device ", shard.device.id, " belongs to process ",
                             shard.device.process, ", but there are ", ranks, " ranks");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardedArray> ExecuteReshard(const ReshardPlan& plan, const ShardedArray& source,
                                            const mesh::Sharding& target,
                                            device::Platform& platform, comm::Comm& comm,
                                            ByteBudget& staging, const comm::Limit& limit) {
  Execution execution(plan, source, platform);
  TESSERA_RETURN_IF_ERROR(comm.Agree(execution.Prepare(target, comm.rank(), staging), limit));
  absl::Status mine = execution.CopyLocal();
  for (int64_t round = 0; round < plan.rounds; ++round) {
    TESSERA_RETURN_IF_ERROR(execution.RunRound(round, comm, limit, mine));
  }
  absl::StatusOr<ShardedArray> result =
      mine.ok() ? std::move(execution).Finish(target) : absl::StatusOr<ShardedArray>(mine);
  TESSERA_RETURN_IF_ERROR(comm.Agree(result.status(), limit));
  return result;
}

absl::StatusOr<ShardedArray> Reshard(const ShardedArray& source, const mesh::Sharding& target,
                                     device::Platform& platform, comm::Comm& comm,
                                     const ReshardOptions& options) {
  TESSERA_RETURN_IF_ERROR(AgreeOnArguments(source, target, comm, options));
  TESSERA_ASSIGN_OR_RETURN(const ReshardPlan plan,
                           PlanReshard(source.shape_dtype(), source.sharding(), target,
                                       {.budget_bytes = options.budget_bytes}));
  TESSERA_RETURN_IF_ERROR(CheckProcesses(plan, comm.size()));
  ByteBudget staging(options.budget_bytes);
  return ExecuteReshard(plan, source, target, platform, comm, staging, options.limit);
}

}  // namespace tessera::array
