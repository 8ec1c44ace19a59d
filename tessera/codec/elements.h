// What the bytes of an element mean: their order, and which of them are values of the dtype.
#ifndef TESSERA_CODEC_ELEMENTS_H_
#define TESSERA_CODEC_ELEMENTS_H_

#include <cstddef>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"

namespace tessera::codec {

// Bytes of what a byte order is about: the element, or one half of a complex number.
int UnitBytes(DType dtype);

// Reverses the bytes of each unit.  `target` is as large as `source`, and either the same memory
// or apart from it.  REQUIRES: unit_bytes is 1, 2, 4 or 8, and divides the size.
void SwapBytes(int unit_bytes, std::span<const std::byte> source, std::byte* target);

// In place.
void SwapElements(int unit_bytes, const StridedView& elements);

// True when a byte can hold what is no value of the dtype: bool, and all types under a byte.
bool HasStrayBits(DType dtype);

// The first index, in C order, whose byte is neither 0 nor 1.
std::optional<Dims> FindNonBool(const ConstStridedView& elements);

// Makes stored bytes values of the dtype, in place.  Of a type under a byte only the low bits
// count; the others become zeros, as ml_dtypes has them, also above a negative int4.  A bool other
// than 0 and 1 is DataLoss, with its index counted from `origin`'s own zero.
absl::Status ClearStrayBits(DType dtype, DimsView origin, const StridedView& elements);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_ELEMENTS_H_
