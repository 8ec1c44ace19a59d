#include "tessera/core/shape.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera {

absl::Status ValidateShape(DimsView shape) {
  if (shape.size() > kMaxRank) {
    return InvalidArgument("shape has ", shape.size(), " dimensions; at most ", kMaxRank,
                           " are supported");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return InvalidArgument("shape ", ShapeText(shape), ": dimension ", i,
                             " has the negative size ", shape[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return InvalidArgument("the product ", a, " * ", b, " does not fit 63 bits");
  }
  return product;
}

absl::StatusOr<int64_t> NumElements(DimsView shape) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  // A zero anywhere makes the array empty, however large the other sizes are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) {
      return InvalidArgument("shape ", ShapeText(shape),
                             ": the element count does not fit 63 bits");
    }
  }
  return count;
}

absl::StatusOr<int64_t> NumBytes(DType dtype, DimsView shape) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, int64_t{DTypeBytes(dtype)}, &bytes)) {
    return InvalidArgument("shape ", ShapeText(shape), " of ", DTypeName(dtype),
                           ": the byte count does not fit 63 bits");
  }
  return bytes;
}

absl::StatusOr<int64_t> NumBytesPacked(DType dtype, DimsView shape) {
  const int bits = InfoOf(dtype).bits;
  if (bits >= 8) return NumBytes(dtype, shape);
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  // Whole groups of eight first, so that nothing overflows: eight elements take `bits` bytes.
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

Dims RowMajorStrides(DimsView shape, int64_t element_bytes) {
  Dims strides(shape.size());
  // Unsigned, because an empty array may have sizes whose product wraps; nobody follows those.
  uint64_t stride = static_cast<uint64_t>(element_bytes);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape[i]);
  }
  return strides;
}

Dims ColumnMajorStrides(DimsView shape, int64_t element_bytes) {
  Dims strides(shape.size());
  uint64_t stride = static_cast<uint64_t>(element_bytes);
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape[i]);
  }
  return strides;
}

std::string ShapeText(DimsView shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace tessera
