#include "tessera/zarr/request.h"

#include "tessera/core/status.h"

namespace tessera::zarr {

absl::Status CheckRequest(const Metadata& metadata, const Box& box, DimsView memory_shape,
                          int64_t element_bytes) {
  if (box.rank() != static_cast<int>(metadata.shape.size()) ||
      !Contains(Box::Whole(metadata.shape), box)) {
    return InvalidArgument("the box ", box.Text(), " is not within an array of shape ",
                           ShapeText(metadata.shape));
  }
  if (!std::equal(memory_shape.begin(), memory_shape.end(), box.shape().begin(),
                  box.shape().end())) {
    return InvalidArgument("memory of shape ", ShapeText(memory_shape), " for a box of shape ",
                           ShapeText(box.shape()));
  }
  if (element_bytes != DTypeBytes(metadata.dtype)) {
    return InvalidArgument("memory for elements of ", element_bytes, " bytes, but ",
                           DTypeName(metadata.dtype), " has ", DTypeBytes(metadata.dtype));
  }
  return absl::OkStatus();
}

absl::Status AsDataLoss(const absl::Status& status) {
  return absl::IsOutOfRange(status) ? absl::DataLossError(status.message()) : status;
}

}  // namespace tessera::zarr
