// What reading and writing a box have in common before and after the chunks.
#ifndef TESSERA_ZARR_REQUEST_H_
#define TESSERA_ZARR_REQUEST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// InvalidArgument unless the box lies in the array and the memory fits the box.
absl::Status CheckRequest(const Metadata& metadata, const Box& box, DimsView memory_shape,
                          int64_t element_bytes);

// A store says OutOfRange when a value is shorter or longer than a chunk can be: that is damage.
absl::Status AsDataLoss(const absl::Status& status);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_REQUEST_H_
