// The plan of a save as safetensors.  Pure.
#ifndef TESSERA_CHECKPOINT_PLAN_SAVE_TENSORS_H_
#define TESSERA_CHECKPOINT_PLAN_SAVE_TENSORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/plan_save.h"

namespace tessera::checkpoint {

// As PlanSave.  A block of a file is written and hashed in one go by a rank that holds all of it,
// where there is one.  REQUIRES: options.format is SafetensorsFormat.
absl::StatusOr<SavePlan> PlanTensors(const array::ValueTree& tree, const PlanOptions& options,
                                     int ranks);

// A block by its array and its number in C order.
struct PlannedBlock {
  size_t array = 0;  // in plan.arrays
  int64_t cell = 0;
  friend bool operator==(const PlannedBlock&, const PlannedBlock&) = default;
  friend auto operator<=>(const PlannedBlock&, const PlannedBlock&) = default;
};

// The blocks of which several ranks write pieces, ascending.
std::vector<PlannedBlock> SharedBlocks(const SavePlan& plan);

// File and tensor of an array.
struct TensorOfPlan {
  const safetensors::PlannedFile& file;
  const safetensors::Tensor& tensor;
};
TensorOfPlan TensorOf(const SavePlan& plan, size_t array);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_SAVE_TENSORS_H_
