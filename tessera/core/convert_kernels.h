// Vectorised loops between float types.  The same results as DecodeFloat and EncodeFloat.
#ifndef TESSERA_CORE_CONVERT_KERNELS_H_
#define TESSERA_CORE_CONVERT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "tessera/core/dtype.h"

namespace tessera {

// Converts `count` elements.  Any alignment; `src` and `dst` do not overlap.
using ConvertKernel = void (*)(const std::byte* src, std::byte* dst, size_t count);

// What the loops are compiled for.  The results do not depend on it.
enum class KernelIsa : uint8_t { kBaseline, kAvx2, kAvx512 };

bool IsaSupported(KernelIsa isa);
KernelIsa BestIsa();

// From float32 or float64 to any narrower float, or from bfloat16, float16 or float32 to a wider
// one of these two; nullptr for other pairs.  REQUIRES: IsaSupported(isa).
ConvertKernel FindConvertKernel(DType from, DType to, KernelIsa isa);

}  // namespace tessera

#endif  // TESSERA_CORE_CONVERT_KERNELS_H_
