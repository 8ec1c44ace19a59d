// Rounds: transfers cut and ordered so that no process holds more than a budget at once.  Pure.
#ifndef TESSERA_ARRAY_RESHARD_ROUNDS_H_
#define TESSERA_ARRAY_RESHARD_ROUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/reshard_plan.h"

namespace tessera::array {

// The box in pieces of at most `max_bytes`, in row-major order: runs along the outermost dimension
// as long as one index of it fits, else each index cut along the next.  Runs of one cut differ by
// at most one index.  REQUIRES: the box is not empty, and 0 < element_bytes <= max_bytes.
std::vector<Box> CutBox(const Box& box, int64_t element_bytes, int64_t max_bytes);

// Replaces the plan's transfers by pieces and gives each its round, so that in every round each
// process sends at most half the budget and receives at most half of it.  Sets plan.rounds.
absl::Status AssignRounds(ReshardPlan& plan, int64_t budget_bytes);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_RESHARD_ROUNDS_H_
