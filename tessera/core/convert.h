// Conversion of arrays of elements from one dtype to another.
//
// The results are those of NumPy's astype with ml_dtypes, bit for bit:
//  - A number goes to the nearest that the target has, a tie to the even code.
//  - Past the target's range it becomes Inf; without Inf, NaN; without NaN, the largest number.
//  - NaN becomes the target's quiet NaN with the sign kept and the payload dropped; without NaN, a
//    zero of the opposite sign.
//  - -0 stays -0 where the target has it.  Subnormals are exact, whatever the processor's
//    flush-to-zero mode.
//  - float8_e8m0fnu holds powers of two only: a tie goes up, zero and negatives become NaN, what
//    is under the smallest power becomes it, and what lies between the two smallest powers becomes
//    the greater.
//
// Three things differ from astype:
//  - Every result is rounded once.  astype takes float64 and integers to bfloat16 and to the types
//    of a byte by way of float32; testdata/floats/index.json counts the inputs where this shows.
//  - NaN payloads, which astype keeps on the way to float16, float32 and float64, are dropped.
//  - Pairs that astype refuses, such as float8_e8m0fnu with other types of a byte, go by value.
//
// The rounding mode must be the default one (to nearest).  Pure, and safe to call from any thread.
#ifndef TESSERA_CORE_CONVERT_H_
#define TESSERA_CORE_CONVERT_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "tessera/core/dtype.h"

namespace tessera {

// Whether ConvertElements takes this pair: equal dtypes; float to float; bool or integer to float;
// float to complex; complex to complex.
bool CanConvert(DType from, DType to);

// Converts every element of `src` to `dst`.  Elements are little-endian and of any alignment; the
// buffers do not overlap.  Bytes of equal dtypes are copied as they are; any bool but 0 counts as
// 1.  InvalidArgument if CanConvert denies the pair, `src` does not hold whole elements, or `dst`
// does not hold as many.
absl::Status ConvertElements(DType from, std::span<const std::byte> src, DType to,
                             std::span<std::byte> dst);

}  // namespace tessera

#endif  // TESSERA_CORE_CONVERT_H_
