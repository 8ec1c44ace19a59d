#include "tessera/core/convert_kernels.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "tessera/core/float_format.h"

// Loop bodies must end up inside the function that names the instruction set.
#define TESSERA_INLINE __attribute__((always_inline)) inline

#if defined(__x86_64__)
#define TESSERA_HAS_X86_ISAS 1
#endif

namespace tessera {
namespace {

template <int kBytes>
using UintOf = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// float or double, as the bits on which the loops work.
template <typename T>
struct Wide {
  using Float = T;
  using Bits = UintOf<sizeof(T)>;
  static constexpr FloatFormat kFormat = sizeof(T) == 4 ? kBinary32 : kBinary64;
  static constexpr int kSignShift = kFormat.sign_shift();
  static constexpr Bits kInfinity = static_cast<Bits>(kFormat.infinity());
  static constexpr Bits kNan = static_cast<Bits>(kFormat.nan());
  static constexpr Bits kMagnitude = static_cast<Bits>(kFormat.magnitude_mask());

  // The bits of 2^power.
  static constexpr Bits PowerOfTwo(int power) {
    return static_cast<Bits>(power + kFormat.bias) << kFormat.mantissa_bits;
  }
};

// Vector units compare signed integers cheaply; every magnitude fits into one.
template <typename Bits>
TESSERA_INLINE bool Less(Bits a, Bits b) {
  using Signed = std::make_signed_t<Bits>;
  return static_cast<Signed>(a) < static_cast<Signed>(b);
}

// `condition` ? a : b by masks.  With ?: an `a` that comes from a float sum would become a branch,
// since a sum may trap and compilers do not compute one that might not be needed.
template <typename Bits>
TESSERA_INLINE Bits Select(bool condition, Bits a, Bits b) {
  const Bits mask = Bits{0} - static_cast<Bits>(condition);
  return (a & mask) | (b & ~mask);
}

// Rounds a float or double to the narrower format F.  Branch-free: both the normal and the
// subnormal result are computed, and the right one is selected.
template <typename W, FloatFormat F>
struct Narrow {
  using In = typename W::Bits;
  using Result = In;
  using Out = UintOf<F.bytes()>;

  // Where the target's exponent field is above zero.  A carry out of the mantissa is right.  The
  // code of overflow is the one after the largest number, or that number itself, so clamping the
  // magnitude to what this code would stand for leaves the rest to the rounding.
  static TESSERA_INLINE In Normal(In magnitude) {
    constexpr int kDrop = W::kFormat.mantissa_bits - F.mantissa_bits;
    constexpr In kRebias = static_cast<In>(W::kFormat.bias - F.bias) << W::kFormat.mantissa_bits;
    constexpr In kLimit = (static_cast<In>(F.overflow()) << kDrop) + kRebias;
    constexpr In kHalfBelow = (In{1} << (kDrop - 1)) - 1;
    const In clamped = Less(kLimit, magnitude) ? kLimit : magnitude;
    const In odd = (clamped >> kDrop) & 1;
    return (clamped + odd + (kHalfBelow - kRebias)) >> kDrop;
  }

  // Below: adding a power of two whose last place is the target's smallest step makes the
  // processor round at that step and leaves the code in the low bits of the sum.
  static TESSERA_INLINE In Subnormal(In magnitude) {
    using Float = typename W::Float;
    constexpr In kAnchor = W::PowerOfTwo(1 - F.bias - F.mantissa_bits + W::kFormat.mantissa_bits);
    return std::bit_cast<In>(std::bit_cast<Float>(magnitude) + std::bit_cast<Float>(kAnchor)) -
           kAnchor;
  }

  static TESSERA_INLINE Result Apply(In bits) {
    const In magnitude = bits & W::kMagnitude;
    constexpr In kNan = static_cast<In>(F.nan());
    In code = Less(W::kInfinity, magnitude) ? kNan : Normal(magnitude);
    if constexpr (F.bias != W::kFormat.bias) {
      code = Select(Less(magnitude, W::PowerOfTwo(1 - F.bias)), Subnormal(magnitude), code);
    }
    In sign = (bits >> W::kSignShift) << F.sign_shift();
    if constexpr (F.specials == FloatSpecials::kFnuz) {
      sign = code == 0 ? 0 : sign;
      return code | sign;
    }
    return code ^ sign;
  }
};

// float8_e8m0fnu, as EncodeScale in float_format.cc.
template <typename W>
struct Narrow<W, kE8m0fnu> {
  using In = typename W::Bits;
  using Result = In;
  using Out = uint8_t;

  static TESSERA_INLINE Result Apply(In bits) {
    constexpr int kDrop = W::kFormat.mantissa_bits;
    constexpr In kOffset = static_cast<In>(W::kFormat.bias - kE8m0fnu.bias);
    constexpr In kNan = static_cast<In>(kE8m0fnu.nan());
    // 2^-127 is subnormal in float32.
    constexpr In kSmallest = kOffset > 0 ? W::PowerOfTwo(-127) : In{1} << (kDrop - 1);
    const In magnitude = bits & W::kMagnitude;
    In code = ((magnitude + (In{1} << (kDrop - 1))) >> kDrop) - kOffset;
    code = Less(code, In{1}) ? 1 : code;
    code = Less(kSmallest, magnitude) ? code : 0;
    code = Less(kNan, code) ? kNan : code;
    code = Less(In{0}, bits) ? code : kNan;
    return code;
  }
};

// Exact, from the format F to float or double.
template <FloatFormat F, typename W>
struct Widen {
  using In = UintOf<F.bytes()>;
  using Out = typename W::Bits;
  using Result = Out;

  // Takes one step of the exponent field for the implicit bit that subnormals lack, then
  // subtracts that bit's value: no operand is subnormal, so flush-to-zero modes do no harm.
  static TESSERA_INLINE Out Subnormal(Out shifted) {
    using Float = typename W::Float;
    constexpr Out kLeast = W::PowerOfTwo(1 - F.bias);
    return std::bit_cast<Out>(std::bit_cast<Float>(shifted + kLeast) -
                              std::bit_cast<Float>(kLeast));
  }

  static TESSERA_INLINE Result Apply(In code) {
    constexpr int kShift = W::kFormat.mantissa_bits - F.mantissa_bits;
    constexpr Out kInfinity = static_cast<Out>(F.infinity()) << kShift;
    constexpr Out kLeast = Out{1} << W::kFormat.mantissa_bits;
    const Out shifted = static_cast<Out>(code & F.magnitude_mask()) << kShift;
    constexpr Out kRebias = static_cast<Out>(W::kFormat.bias - F.bias) << W::kFormat.mantissa_bits;
    Out wide = shifted == kInfinity ? W::kInfinity : shifted + kRebias;
    wide = Less(kInfinity, shifted) ? W::kNan : wide;
    if constexpr (kRebias != 0) {
      wide = Select(Less(shifted, kLeast), Subnormal(shifted), wide);
    }
    return wide | (static_cast<Out>(code >> F.sign_shift()) << W::kSignShift);
  }
};

constexpr size_t kBlock = 64;

template <typename Step, typename Out>
TESSERA_INLINE void Apply(const std::byte* __restrict src, std::byte* __restrict dst,
                          size_t count) {
  using In = typename Step::In;
  for (size_t i = 0; i < count; ++i) {
    In in;
    std::memcpy(&in, src + i * sizeof(In), sizeof(In));
    const Out out = static_cast<Out>(Step::Apply(in));
    std::memcpy(dst + i * sizeof(Out), &out, sizeof(Out));
  }
}

// Up to kBlock elements.  Codes that were computed wider than they are get cut in a loop of its
// own: in a common one GCC cuts each operand of the last few operations instead.
template <typename Step>
TESSERA_INLINE void RunBlock(const std::byte* __restrict src, std::byte* __restrict dst,
                             size_t count) {
  using Result = typename Step::Result;
  using Out = typename Step::Out;
  if constexpr (sizeof(Result) == sizeof(Out)) {
    Apply<Step, Out>(src, dst, count);
  } else {
    Result results[kBlock];
    Apply<Step, Result>(src, reinterpret_cast<std::byte*>(results), count);
    for (size_t i = 0; i < count; ++i) {
      const Out out = static_cast<Out>(results[i]);
      std::memcpy(dst + i * sizeof(Out), &out, sizeof(Out));
    }
  }
}

// Blocks of a constant length vectorise under -O2 as well.
template <typename Step>
TESSERA_INLINE void Run(const std::byte* src, std::byte* dst, size_t count) {
  size_t done = 0;
  for (; count - done >= kBlock; done += kBlock) {
    RunBlock<Step>(src + done * sizeof(typename Step::In), dst + done * sizeof(typename Step::Out),
                   kBlock);
  }
  RunBlock<Step>(src + done * sizeof(typename Step::In), dst + done * sizeof(typename Step::Out),
                 count - done);
}

template <typename Step>
void RunBaseline(const std::byte* src, std::byte* dst, size_t count) {
  Run<Step>(src, dst, count);
}

#ifdef TESSERA_HAS_X86_ISAS
template <typename Step>
__attribute__((target("avx2"))) void RunAvx2(const std::byte* src, std::byte* dst, size_t count) {
  Run<Step>(src, dst, count);
}

template <typename Step>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))) void RunAvx512(const std::byte* src,
                                                                             std::byte* dst,
                                                                             size_t count) {
  Run<Step>(src, dst, count);
}
#endif

template <typename Step>
ConvertKernel Pick([[maybe_unused]] KernelIsa isa) {
#ifdef TESSERA_HAS_X86_ISAS
  if (isa == KernelIsa::kAvx512) return &RunAvx512<Step>;
  if (isa == KernelIsa::kAvx2) return &RunAvx2<Step>;
#endif
  return &RunBaseline<Step>;
}

template <typename W>
ConvertKernel FindNarrow(DType to, KernelIsa isa) {
  switch (to) {
    case DType::kFloat4E2m1fn:
      return Pick<Narrow<W, kE2m1fn>>(isa);
    case DType::kFloat6E2m3fn:
      return Pick<Narrow<W, kE2m3fn>>(isa);
    case DType::kFloat6E3m2fn:
      return Pick<Narrow<W, kE3m2fn>>(isa);
    case DType::kFloat8E3m4:
      return Pick<Narrow<W, kE3m4>>(isa);
    case DType::kFloat8E4m3fn:
      return Pick<Narrow<W, kE4m3fn>>(isa);
    case DType::kFloat8E5m2:
      return Pick<Narrow<W, kE5m2>>(isa);
    case DType::kFloat8E4m3b11fnuz:
      return Pick<Narrow<W, kE4m3b11fnuz>>(isa);
    case DType::kFloat8E4m3fnuz:
      return Pick<Narrow<W, kE4m3fnuz>>(isa);
    case DType::kFloat8E5m2fnuz:
      return Pick<Narrow<W, kE5m2fnuz>>(isa);
    case DType::kFloat8E8m0fnu:
      return Pick<Narrow<W, kE8m0fnu>>(isa);
    case DType::kBfloat16:
      return Pick<Narrow<W, kBf16>>(isa);
    case DType::kFloat16:
      return Pick<Narrow<W, kBinary16>>(isa);
    default:
      return nullptr;
  }
}

template <FloatFormat F>
ConvertKernel FindWiden(DType to, KernelIsa isa) {
  if (to == DType::kFloat32) return Pick<Widen<F, Wide<float>>>(isa);
  if (to == DType::kFloat64) return Pick<Widen<F, Wide<double>>>(isa);
  return nullptr;
}

}  // namespace

bool IsaSupported(KernelIsa isa) {
#ifdef TESSERA_HAS_X86_ISAS
  switch (isa) {
    case KernelIsa::kBaseline:
      return true;
    case KernelIsa::kAvx2:
      return __builtin_cpu_supports("avx2");
    case KernelIsa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
#endif
  return isa == KernelIsa::kBaseline;
}

KernelIsa BestIsa() {
  static const KernelIsa best = [] {
    if (IsaSupported(KernelIsa::kAvx512)) return KernelIsa::kAvx512;
    return IsaSupported(KernelIsa::kAvx2) ? KernelIsa::kAvx2 : KernelIsa::kBaseline;
  }();
  return best;
}

ConvertKernel FindConvertKernel(DType from, DType to, KernelIsa isa) {
  switch (from) {
    case DType::kBfloat16:
      return FindWiden<kBf16>(to, isa);
    case DType::kFloat16:
      return FindWiden<kBinary16>(to, isa);
    case DType::kFloat32:
      if (to == DType::kFloat64) return Pick<Widen<kBinary32, Wide<double>>>(isa);
      return FindNarrow<Wide<float>>(to, isa);
    case DType::kFloat64:
      if (to == DType::kFloat32) return Pick<Narrow<Wide<double>, kBinary32>>(isa);
      return FindNarrow<Wide<double>>(to, isa);
    default:
      return nullptr;
  }
}

}  // namespace tessera
