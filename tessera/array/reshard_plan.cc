#include "tessera/array/reshard_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/reshard_rounds.h"
#include "tessera/array/shard_grid.h"
#include "tessera/core/status.h"
#include "tessera/device/memory_kind.h"

namespace tessera::array {
namespace {

absl::StatusOr<device::MemoryKind> KindOf(const mesh::Sharding& sharding) {
  const auto* named = std::get_if<mesh::NamedSharding>(&sharding);
  const auto kind = device::ParseMemoryKind(
      named != nullptr ? named->memory_kind()
                       : std::get<mesh::SingleDeviceSharding>(sharding).memory_kind);
  if (!kind.ok()) return Prefixed(kind.status(), mesh::ShardingText(sharding));
  return kind;
}

// Where each device of the target stands in the source; nullopt where it holds nothing there.
absl::StatusOr<std::vector<std::optional<int64_t>>> FindOwnSources(const ShardGrid& source,
                                                                   const ShardGrid& target) {
  absl::flat_hash_map<int64_t, int64_t> positions;
  for (size_t i = 0; i < source.shards().size(); ++i) {
    positions.emplace(source.shards()[i].device.id, static_cast<int64_t>(i));
  }
  std::vector<std::optional<int64_t>> own;
  own.reserve(target.shards().size());
  for (const mesh::DeviceShard& shard : target.shards()) {
    const auto found = positions.find(shard.device.id);
    own.push_back(found == positions.end() ? std::nullopt : std::optional(found->second));
    if (!own.back().has_value()) continue;
    const int before = source.shards()[static_cast<size_t>(*own.back())].device.process;
    if (before == shard.device.process) continue;
    return InvalidArgument("device ", shard.device.id, " belongs to process ", before,
                           " in the source and to process ", shard.device.process,
                           " in the target");
  }
  return own;
}

// Chooses a source for every byte, in the order and by the rules of the header.
class SourceChooser {
 public:
  SourceChooser(const ShardGrid& source, const ShardGrid& target,
                std::vector<std::optional<int64_t>> own, bool may_keep, ReshardPlan& plan)
      : source_(source),
        target_(target),
        own_(std::move(own)),
        may_keep_(may_keep),
        element_bytes_(DTypeBytes(plan.array.dtype)),
        read_(source.shards().size(), 0),
        plan_(plan) {}

  void Run() {
    FindKept();
    // All blocks of an array without elements are empty.
    if (target_.shards().front().box.empty()) return;
    Reserve();
    for (int64_t to = 0; to < target_.num_blocks(); ++to) {
      source_.ForEachBlockIn(target_.BoxOf(to), [&](int64_t from) { ServeBlock(from, to); });
    }
  }

 private:
  void FindKept() {
    is_kept_.resize(target_.shards().size(), false);
    for (size_t i = 0; may_keep_ && i < own_.size(); ++i) {
      if (!own_[i].has_value()) continue;
      const mesh::DeviceShard& before = source_.shards()[static_cast<size_t>(*own_[i])];
      if (before.box != target_.shards()[i].box) continue;
      is_kept_[i] = true;
      plan_.kept.push_back({*own_[i], static_cast<int64_t>(i)});
    }
  }

  // All blocks overlap about as many, so the first one tells.  Growing step by step would take
  // longer than all the rest.
  void Reserve() {
    constexpr size_t kMost = size_t{1} << 20;
    size_t overlaps = 0;
    source_.ForEachBlockIn(target_.BoxOf(0), [&](int64_t) { ++overlaps; });
    const size_t pairs = std::min(kMost, overlaps * target_.shards().size());
    if (plan_.totals.size() == 1) {
      plan_.copies.reserve(pairs);
    } else {
      plan_.transfers.reserve(pairs);
    }
  }

  // What the holders of target block `to` need of source block `from`.
  void ServeBlock(int64_t from, int64_t to) {
    const Box box = Intersect(source_.BoxOf(from), target_.BoxOf(to));
    const int64_t bytes = *box.num_elements() * element_bytes_;
    for (const ShardGrid::Holders& holders : target_.HoldersOf(to)) {
      const std::span<const int64_t> near = source_.HoldersIn(from, holders.process);
      if (near.empty()) {
        const int64_t source = ChooseFar(from);
        sent_[ProcessOf(source)] += bytes;
        read_[static_cast<size_t>(source)] += bytes;
        plan_.transfers.push_back(
            {0, source, {holders.positions.begin(), holders.positions.end()}, box, bytes});
        continue;
      }
      for (int64_t target : holders.positions) ServeNear(from, near, target, box, bytes);
    }
  }

  void ServeNear(int64_t from, std::span<const int64_t> near, int64_t target, const Box& box,
                 int64_t bytes) {
    if (is_kept_[static_cast<size_t>(target)]) return;
    const std::optional<int64_t> own = own_[static_cast<size_t>(target)];
    const bool has_it = own.has_value() && source_.BlockOf(*own) == from;
    const int64_t source = has_it ? *own : LeastRead(near);
    read_[static_cast<size_t>(source)] += bytes;
    plan_.copies.push_back({source, target, box, bytes});
  }

  int64_t ChooseFar(int64_t from) {
    const std::span<const ShardGrid::Holders> all = source_.HoldersOf(from);
    const auto least = std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return sent_[a.process] < sent_[b.process];
    });
    return LeastRead(least->positions);
  }

  int64_t LeastRead(std::span<const int64_t> positions) const {
    return *std::min_element(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
      return read_[static_cast<size_t>(a)] < read_[static_cast<size_t>(b)];
    });
  }

  int ProcessOf(int64_t source) const {
    return source_.shards()[static_cast<size_t>(source)].device.process;
  }

  const ShardGrid& source_;
  const ShardGrid& target_;
  const std::vector<std::optional<int64_t>> own_;  // by position in the target
  const bool may_keep_;
  const int64_t element_bytes_;
  std::vector<bool> is_kept_;               // by position in the target
  std::vector<int64_t> read_;               // bytes, by position in the source
  absl::flat_hash_map<int, int64_t> sent_;  // bytes, by process
  ReshardPlan& plan_;
};

void AddProcesses(ReshardPlan& plan) {
  std::vector<int> processes;
  for (const auto* shards : {&plan.sources, &plan.targets}) {
    for (const mesh::DeviceShard& shard : *shards) processes.push_back(shard.device.process);
  }
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  for (int process : processes) plan.totals.push_back({.process = process});
}

// Sums what the acts of the plan cost each process.
class Accountant {
 public:
  explicit Accountant(ReshardPlan& plan)
      : plan_(plan), element_bytes_(DTypeBytes(plan.array.dtype)) {
    for (ProcessTotals& totals : plan.totals) by_process_.emplace(totals.process, &totals);
  }

  void Run() {
    for (const KeptShard& kept : plan_.kept) {
      const mesh::DeviceShard& shard = plan_.targets[static_cast<size_t>(kept.target)];
      Of(shard).kept_bytes += *shard.box.num_elements() * element_bytes_;
    }
    for (const LocalCopy& copy : plan_.copies) {
      Of(plan_.targets[static_cast<size_t>(copy.target)]).copied_bytes += copy.bytes;
    }
    for (const BoxTransfer& transfer : plan_.transfers) Add(transfer);
    CloseRound();
  }

 private:
  void Add(const BoxTransfer& transfer) {
    if (transfer.round != round_) CloseRound();
    round_ = transfer.round;
    ProcessTotals& sender = Of(plan_.sources[static_cast<size_t>(transfer.source)]);
    ProcessTotals& receiver = Of(plan_.targets[static_cast<size_t>(transfer.targets.front())]);
    sender.sent_bytes += transfer.bytes;
    receiver.received_bytes += transfer.bytes;
    receiver.copied_bytes += transfer.bytes * (static_cast<int64_t>(transfer.targets.size()) - 1);
    staging_[&sender] += transfer.bytes;
    staging_[&receiver] += transfer.bytes;
  }

  void CloseRound() {
    for (const auto& [totals, bytes] : staging_) {
      totals->peak_staging_bytes = std::max(totals->peak_staging_bytes, bytes);
    }
    staging_.clear();
  }

  ProcessTotals& Of(const mesh::DeviceShard& shard) {
    return *by_process_.find(shard.device.process)->second;
  }

  ReshardPlan& plan_;
  const int64_t element_bytes_;
  absl::flat_hash_map<int, ProcessTotals*> by_process_;
  int64_t round_ = 0;
  absl::flat_hash_map<ProcessTotals*, int64_t> staging_;  // of this round
};

absl::Status CheckSizes(const ShapeDtype& array, const ShardGrid& target, int64_t budget_bytes) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
  // Every total is at most the whole array on every device.
  TESSERA_RETURN_IF_ERROR(
      CheckedProduct(bytes, static_cast<int64_t>(target.shards().size())).status());
  const int64_t least = 2 * int64_t{DTypeBytes(array.dtype)};
  if (budget_bytes >= least) return absl::OkStatus();
  return InvalidArgument("budget_bytes is ", budget_bytes, ", expected at least ", least,
                         ", two elements of ", DTypeName(array.dtype));
}

}  // namespace

absl::StatusOr<ReshardPlan> PlanReshard(const ShapeDtype& array, const mesh::Sharding& from,
                                        const mesh::Sharding& to,
                                        const ReshardPlanOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const ShardGrid source, ShardGrid::Make(from, array.shape));
  TESSERA_ASSIGN_OR_RETURN(const ShardGrid target, ShardGrid::Make(to, array.shape));
  TESSERA_RETURN_IF_ERROR(CheckSizes(array, target, options.budget_bytes));
  TESSERA_ASSIGN_OR_RETURN(auto own, FindOwnSources(source, target));
  ReshardPlan plan;
  plan.array = array;
  plan.sources = source.shards();
  plan.targets = target.shards();
  AddProcesses(plan);
  TESSERA_ASSIGN_OR_RETURN(const device::MemoryKind from_kind, KindOf(from));
  TESSERA_ASSIGN_OR_RETURN(const device::MemoryKind to_kind, KindOf(to));
  SourceChooser(source, target, std::move(own), from_kind == to_kind, plan).Run();
  TESSERA_RETURN_IF_ERROR(AssignRounds(plan, options.budget_bytes));
  Accountant(plan).Run();
  return plan;
}

}  // namespace tessera::array
