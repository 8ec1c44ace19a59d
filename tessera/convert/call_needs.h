// CallNeeds: how much of the budget one call may take that reads a source or writes a target.
//
// Units hold memory while such calls are made, so as much as the largest of them stays free: else
// all workers could hold units and wait for each other.
#ifndef TESSERA_CONVERT_CALL_NEEDS_H_
#define TESSERA_CONVERT_CALL_NEEDS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/shape.h"
#include "tessera/zarr/metadata.h"

namespace tessera::convert {

class CallNeeds {
 public:
  explicit CallNeeds(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  absl::StatusOr<int64_t> ToRead(const checkpoint::CheckpointArray& array);
  // To write an array, and to read it back.
  absl::StatusOr<int64_t> ForZarr(const zarr::Metadata& metadata);
  absl::StatusOr<int64_t> ForTensor(DType dtype, DimsView block_shape);

 private:
  const int64_t budget_bytes_;
  // Metadata of arrays that are alike is shared.
  absl::flat_hash_map<const zarr::Metadata*, int64_t> known_;
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_CALL_NEEDS_H_
