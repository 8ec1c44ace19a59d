// Rounds of a load in which every chunk is read by one process and sent to the others.
//
// A pure function of the plan, so every process makes the same rounds without asking the others.
#ifndef TESSERA_CHECKPOINT_LOAD_SHARED_ROUNDS_H_
#define TESSERA_CHECKPOINT_LOAD_SHARED_ROUNDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_load.h"
#include "tessera/core/box.h"

namespace tessera::checkpoint {

// What a process needs of a chunk.
struct SharedNeed {
  int process = 0;
  Box box;  // the hull of what its shards have of it
  friend bool operator==(const SharedNeed&, const SharedNeed&) = default;
};

// One chunk.
struct SharedItem {
  size_t array = 0;  // in the plan
  Box hull;          // of all needs
  int64_t bytes = 0;
  // Who reads it: of those that need it, the one that has read fewest bytes so far, the lower
  // number of equals.  nullopt: too large to be held, so everyone reads it.
  std::optional<int> reader = {};
  std::vector<SharedNeed> needs;  // by process
  friend bool operator==(const SharedItem&, const SharedItem&) = default;
};

struct SharedRound {
  std::vector<SharedItem> items;
  std::vector<size_t> finished;  // arrays that have no item after this round
  friend bool operator==(const SharedRound&, const SharedRound&) = default;
};

struct SharedLimits {
  int processes = 1;
  // The most that a process holds in a round: what it reads, what it sends in other pieces, and
  // what it receives.
  int64_t round_bytes = int64_t{1} << 28;
  int64_t round_items = 4096;
};

// The distinct boxes of every process.  An array that was placed on nothing but the default device
// is needed whole by all.
absl::StatusOr<std::vector<std::vector<Box>>> BoxesByProcess(const ArrayPlan& array, int processes);

// Calls `body` for one round after the other, over the arrays [begin, end) in order.
// InvalidArgument when a mesh has a process that is not among `limits.processes`.  Arrays are
// numbered by their place in the plan.
absl::Status ForEachRound(const LoadPlan& plan, size_t begin, size_t end,
                          absl::FunctionRef<const Dims&(size_t array)> chunk_shape,
                          const SharedLimits& limits,
                          absl::FunctionRef<absl::Status(const SharedRound&)> body);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_SHARED_ROUNDS_H_
