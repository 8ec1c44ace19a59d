#include "tessera/array/host_array.h"

#include <cstring>

#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"

namespace tessera::array {

absl::Status CheckElements(const ConstStridedView& view, DType dtype) {
  TESSERA_RETURN_IF_ERROR(NumBytes(dtype, view.shape));
  if (view.element_bytes != DTypeBytes(dtype)) {
    return InvalidArgument("the host array's elements have ", view.element_bytes, " bytes; ",
                           DTypeName(dtype), " has ", DTypeBytes(dtype));
  }
  if (view.strides.size() != view.shape.size()) {
    return InvalidArgument("the host array has ", view.strides.size(), " strides for ",
                           view.shape.size(), " dimensions");
  }
  return absl::OkStatus();
}

absl::StatusOr<HostArray> HostArray::Borrow(const ConstStridedView& view, DType dtype,
                                            std::shared_ptr<const void> owner) {
  TESSERA_RETURN_IF_ERROR(CheckElements(view, dtype));
  TESSERA_ASSIGN_OR_RETURN(const int64_t elements, NumElements(view.shape));
  if (owner == nullptr && elements > 0) {
    return InvalidArgument("nothing keeps the memory of the host array alive");
  }
  return HostArray(view, dtype, std::move(owner));
}

absl::StatusOr<HostArray> HostArray::CopyOf(const ShapeDtype& array,
                                            std::span<const std::byte> elements) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
  if (static_cast<int64_t>(elements.size()) != bytes) {
    return InvalidArgument(DTypeName(array.dtype), ShapeText(array.shape), " has ", bytes,
                           " bytes, but ", elements.size(), " were given");
  }
  auto memory = AllocateHostMemory(bytes);
  if (bytes > 0 && memory == nullptr) {
    return ResourceExhausted("the system has no ", bytes, " bytes for a host array");
  }
  if (bytes > 0) std::memcpy(memory.get(), elements.data(), elements.size());
  const std::byte* const data = memory.get();
  return HostArray(RowMajorView(data, array.shape, DTypeBytes(array.dtype)), array.dtype,
                   std::move(memory));
}

HostArray HostArray::Rows(int64_t begin, int64_t rows) const {
  Box box = Box::Whole(shape());
  Dims origin = box.origin();
  Dims size = box.shape();
  origin[0] = begin;
  size[0] = rows;
  return HostArray(SubView(view_, *Box::Make(origin, size)), dtype_, owner_);
}

mesh::LeafInfo DescribeLeaf(const HostArray& array) {
  return {mesh::LeafKind::kHostArray, array.shape_dtype(), {}, "host array"};
}

}  // namespace tessera::array
