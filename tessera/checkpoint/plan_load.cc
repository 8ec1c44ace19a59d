#include "tessera/checkpoint/plan_load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tessera/checkpoint/plan_load_parts.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/regex/python_regex.h"
#include "tessera/tree/walk.h"

namespace tessera::checkpoint {
namespace {

// Names for a message, some of them.
class NameList {
 public:
  void Add(std::string_view text) {
    if (count_++ < kMost) text_ += Concat(count_ == 1 ? "" : ", ", text);
  }
  int64_t count() const { return count_; }
  std::string Text() const {
    return count_ > kMost ? Concat(text_, " and ", count_ - kMost, " others") : text_;
  }

 private:
  static constexpr int64_t kMost = 20;
  int64_t count_ = 0;
  std::string text_;
};

using Positions = std::vector<int64_t>;

std::string NamesOf(const Checkpoint& checkpoint) {
  NameList names;
  for (const CheckpointArray& array : checkpoint.arrays()) names.Add(Quoted(array.name));
  return names.count() == 0 ? "no array" : names.Text();
}

// The listed names; all when none is.
absl::StatusOr<absl::flat_hash_set<std::string>> ListedNames(const Checkpoint& checkpoint,
                                                             const LoadRequest& request) {
  absl::flat_hash_set<std::string> known;
  for (const CheckpointArray& array : checkpoint.arrays()) known.insert(array.name);
  NameList unknown;
  absl::flat_hash_set<std::string> listed;
  for (const std::string& name : request.names) {
    if (!known.contains(name)) unknown.Add(Quoted(name));
    listed.insert(name);
  }
  if (unknown.count() == 0) return listed;
  return NotFound("the checkpoint has no array ", unknown.Text(), "; it has ", NamesOf(checkpoint));
}

absl::StatusOr<Positions> Selected(const Checkpoint& checkpoint, const LoadRequest& request) {
  TESSERA_ASSIGN_OR_RETURN(const auto listed, ListedNames(checkpoint, request));
  std::optional<regex::PythonRegex> pattern;
  if (!request.select.empty()) {
    TESSERA_ASSIGN_OR_RETURN(pattern, regex::PythonRegex::Compile(request.select));
  }
  Positions positions;
  const auto arrays = checkpoint.arrays();
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!request.names.empty() && !listed.contains(arrays[i].name)) continue;
    if (pattern.has_value()) {
      TESSERA_ASSIGN_OR_RETURN(const bool found, pattern->Search(arrays[i].name));
      if (!found) continue;
    }
    positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

using Targets = absl::flat_hash_map<std::string, const TargetLeaf*>;

absl::StatusOr<Targets> TargetsByName(const TargetTree& target) {
  Targets targets;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(target, [&](const tree::KeyPathView& path, const TargetLeaf& leaf) {
        if (leaf.array.has_value()) targets.emplace(path.ToKeyPath().Dotted(), &leaf);
      }));
  return targets;
}

std::string ArrayText(const ShapeDtype& array) {
  return Concat(DTypeName(array.dtype), ShapeText(array.shape));
}

// What is wrong with an array for its target; empty: nothing.
std::string Misfit(const CheckpointArray& array, const ShapeDtype& wanted, bool cast) {
  const ShapeDtype stored = array.shape_dtype();
  if (stored.shape == wanted.shape &&
      (stored.dtype == wanted.dtype || (cast && CanConvert(stored.dtype, wanted.dtype)))) {
    return "";
  }
  return Concat(Quoted(array.name), " is stored as ", ArrayText(stored), ", not ",
                ArrayText(wanted));
}

// Only what the target asks for, all of it, as it asks for it.
absl::Status FitTarget(const Checkpoint& checkpoint, const LoadRequest& request,
                       const Targets& targets, Positions& positions) {
  NameList wrong;
  absl::flat_hash_set<std::string> found;
  Positions kept;
  for (const int64_t i : positions) {
    const CheckpointArray& array = checkpoint.arrays()[i];
    const auto target = targets.find(array.name);
    if (target == targets.end()) continue;
    found.insert(array.name);
    kept.push_back(i);
    const std::string misfit = Misfit(array, *target->second->array, request.cast_to_target);
    if (!misfit.empty()) wrong.Add(misfit);
  }
  std::vector<std::string> missing;
  for (const auto& [name, leaf] : targets) {
    if (!found.contains(name)) missing.push_back(name);
  }
  std::sort(missing.begin(), missing.end());
  for (const std::string& name : missing) wrong.Add(Concat(Quoted(name), " is missing"));
  positions = std::move(kept);
  if (wrong.count() == 0) return absl::OkStatus();
  return FailedPrecondition("the checkpoint does not fit the target: ", wrong.Text());
}

absl::StatusOr<DType> ResultDType(const CheckpointArray& array, const LoadRequest& request,
                                  const Targets& targets) {
  const DType stored = array.dtype();
  const auto target = targets.find(array.name);
  if (target != targets.end()) return target->second->array->dtype;
  if (!request.cast.has_value() || !IsFloat(stored)) return stored;
  if (CanConvert(stored, *request.cast)) return *request.cast;
  return InvalidArgument(array.name, ": ", DTypeName(stored), " cannot be cast to ",
                         DTypeName(*request.cast));
}

// Sums of what hostile shapes make: the largest number instead of an overflow.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
int64_t Product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

// Sums up as arrays come.  Arrays of one model have few shardings, whose blocks are found once.
class Counter {
 public:
  explicit Counter(const LoadFacts& facts) : facts_(facts) {}

  absl::Status Add(const CheckpointArray& array, ArrayPlan& plan) {
    TESSERA_ASSIGN_OR_RETURN(plan.shard_shape,
                             mesh::ShardShape(plan.placement.sharding, plan.stored.shape));
    TESSERA_ASSIGN_OR_RETURN(plan.device_bytes, NumBytes(plan.dtype, plan.shard_shape));
    TESSERA_RETURN_IF_ERROR(NumBytes(plan.stored.dtype, plan.stored.shape));
    const Dims& chunk_shape = array.chunk_shape();
    TESSERA_ASSIGN_OR_RETURN(plan.chunks, NumElements(GridShape(plan.stored.shape, chunk_shape)));
    TESSERA_ASSIGN_OR_RETURN(Known * known, Find(plan.placement.sharding, plan.stored));
    known->device_bytes = Sum(known->device_bytes, plan.device_bytes);
    const std::optional<int64_t> stored_bytes = array.stored_bytes();
    plan.least_parts = plan.chunks;
    for (const BlockLayout::Process& process : known->layout.processes()) {
      TESSERA_ASSIGN_OR_RETURN(const PartCounts counts,
                               CountParts(known->layout, process, plan.stored.shape, chunk_shape));
      AddProcess(process, counts, stored_bytes, plan);
    }
    return absl::OkStatus();
  }

  void Finish(LoadPlan& plan) {
    for (auto& [number, process] : processes_) {
      process.process = number;
      process.peak_bytes = Sum(process.result_bytes, facts_.budget_bytes);
      plan.processes.push_back(process);
    }
    std::map<int64_t, DevicePlan> devices;
    for (const Known& known : known_) {
      for (const mesh::Device& device : mesh::DevicesOf(known.sharding)) {
        DevicePlan& total = devices[device.id];
        total.device = device;
        total.bytes = Sum(total.bytes, known.device_bytes);
      }
    }
    for (const auto& [id, device] : devices) plan.devices.push_back(device);
  }

 private:
  struct Known {
    mesh::Sharding sharding;
    int rank = 0;
    BlockLayout layout;
    int64_t device_bytes = 0;  // so far
  };

  void AddProcess(const BlockLayout::Process& process, const PartCounts& counts,
                  std::optional<int64_t> stored_bytes, ArrayPlan& plan) {
    const int64_t element = DTypeBytes(plan.stored.dtype);
    const int64_t decoded = Product(counts.decoded, element);
    int64_t read = decoded;
    // Chunks of one array are of one size, or nearly so.
    if (stored_bytes.has_value() && plan.chunks > 0) {
      read = static_cast<int64_t>(static_cast<double>(*stored_bytes) *
                                  static_cast<double>(counts.parts) /
                                  static_cast<double>(plan.chunks));
    }
    plan.least_parts = std::min(plan.least_parts, counts.parts);
    plan.most_parts = std::max(plan.most_parts, counts.parts);
    plan.requests = Sum(plan.requests, counts.parts);
    plan.read_bytes = Sum(plan.read_bytes, read);
    plan.decoded_bytes = Sum(plan.decoded_bytes, decoded);
    plan.wanted_bytes = Sum(plan.wanted_bytes, Product(counts.wanted, element));
    ProcessPlan& total = processes_[process.process];
    total.result_bytes = Sum(total.result_bytes, Product(plan.device_bytes, process.devices));
    total.requests = Sum(total.requests, counts.parts);
    total.read_bytes = Sum(total.read_bytes, read);
    total.decoded_bytes = Sum(total.decoded_bytes, decoded);
  }

  absl::StatusOr<Known*> Find(const mesh::Sharding& sharding, const ShapeDtype& array) {
    const auto rank = static_cast<int>(array.shape.size());
    for (Known& known : known_) {
      if (known.rank == rank && known.sharding == sharding) return &known;
    }
    TESSERA_ASSIGN_OR_RETURN(BlockLayout layout, BlockLayout::Make(sharding, rank));
    known_.push_back({sharding, rank, std::move(layout)});
    return &known_.back();
  }

  const LoadFacts& facts_;
  std::vector<Known> known_;
  std::map<int, ProcessPlan> processes_;
};

}  // namespace

absl::StatusOr<LoadPlan> PlanLoad(const Checkpoint& checkpoint, const LoadRequest& request,
                                  const LoadFacts& facts) {
  TESSERA_ASSIGN_OR_RETURN(Positions positions, Selected(checkpoint, request));
  Targets targets;
  PlacementRequest placing{request.mesh, request.rules,        request.shardings,
                           {},           request.auto_correct, facts.default_device};
  if (request.target.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(targets, TargetsByName(*request.target));
    TESSERA_RETURN_IF_ERROR(FitTarget(checkpoint, request, targets, positions));
    for (const auto& [name, leaf] : targets) {
      if (leaf->sharding.has_value()) placing.targets.emplace(name, *leaf->sharding);
    }
  }
  std::vector<const CheckpointArray*> arrays;
  for (const int64_t i : positions) arrays.push_back(&checkpoint.arrays()[i]);
  TESSERA_ASSIGN_OR_RETURN(std::vector<Placement> placements, PlaceArrays(arrays, placing));
  LoadPlan plan;
  plan.arrays.resize(arrays.size());
  Counter counter(facts);
  for (size_t i = 0; i < arrays.size(); ++i) {
    ArrayPlan& each = plan.arrays[i];
    each.name = arrays[i]->name;
    each.array = positions[i];
    each.stored = arrays[i]->shape_dtype();
    each.placement = std::move(placements[i]);
    TESSERA_ASSIGN_OR_RETURN(each.dtype, ResultDType(*arrays[i], request, targets));
    const absl::Status counted = counter.Add(*arrays[i], each);
    if (!counted.ok()) return Prefixed(counted, each.name);
  }
  counter.Finish(plan);
  return plan;
}

double LoadPlan::balance() const {
  double sum = 0;
  double most = 0;
  for (const DevicePlan& device : devices) {
    sum += static_cast<double>(device.bytes);
    most = std::max(most, static_cast<double>(device.bytes));
  }
  return most == 0 ? 1 : sum / (most * static_cast<double>(devices.size()));
}

}  // namespace tessera::checkpoint
