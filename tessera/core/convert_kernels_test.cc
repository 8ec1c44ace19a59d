#include "tessera/core/convert_kernels.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <gtest/gtest.h>

#include "tessera/core/float_format.h"

namespace tessera {
namespace {

constexpr DType kSources[] = {DType::kBfloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64};

uint64_t CodeAt(const std::vector<std::byte>& elements, size_t i, int bytes) {
  uint64_t code = 0;
  std::memcpy(&code, elements.data() + i * bytes, bytes);
  return code;
}

// Bit patterns from all over the source type, and as many near its subnormals and near one.
std::vector<std::byte> Samples(DType dtype, size_t count) {
  std::mt19937_64 random(7);
  const int bits = InfoOf(dtype).bits;
  const uint64_t one = EncodeFloat(FormatOf(dtype), 0x3FF0000000000000);
  std::vector<std::byte> samples(count * DTypeBytes(dtype));
  for (size_t i = 0; i < count; ++i) {
    uint64_t code = random() >> (64 - bits);
    if (i % 3 == 1) code >>= random() % bits;
    if (i % 3 == 2) code = one + (code >> 6) - (uint64_t{1} << (bits - 7));
    std::memcpy(samples.data() + i * DTypeBytes(dtype), &code, DTypeBytes(dtype));
  }
  return samples;
}

// Calls `check` with every pair that has a kernel.
template <typename Check>
void ForEachKernel(KernelIsa isa, Check check) {
  for (DType from : kSources) {
    for (const DTypeInfo& to : AllDTypes()) {
      const ConvertKernel kernel = FindConvertKernel(from, to.dtype, isa);
      if (kernel == nullptr || from == to.dtype) continue;
      SCOPED_TRACE(std::string(DTypeName(from)) + " to " + std::string(to.name));
      check(kernel, from, to.dtype);
    }
  }
}

void ExpectSameAsScalar(ConvertKernel kernel, DType from, DType to, size_t count) {
  const std::vector<std::byte> src = Samples(from, count);
  std::vector<std::byte> dst(count * DTypeBytes(to));
  kernel(src.data(), dst.data(), count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t code = CodeAt(src, i, DTypeBytes(from));
    ASSERT_EQ(CodeAt(dst, i, DTypeBytes(to)),
              EncodeFloat(FormatOf(to), DecodeFloat(FormatOf(from), code)))
        << "element " << i << ", code " << code;
  }
}

class ConvertKernelsTest : public ::testing::TestWithParam<KernelIsa> {};

TEST_P(ConvertKernelsTest, GiveTheSameCodesAsTheScalarFunctions) {
  ForEachKernel(GetParam(), [](ConvertKernel kernel, DType from, DType to) {
    ExpectSameAsScalar(kernel, from, to, 60'000);
  });
}

TEST_P(ConvertKernelsTest, StayInsideBuffersOfAnyLengthAndAlignment) {
  ForEachKernel(GetParam(), [](ConvertKernel kernel, DType from, DType to) {
    constexpr size_t kLongest = 140;
    const std::vector<std::byte> samples = Samples(from, kLongest);
    std::vector<std::byte> whole(kLongest * DTypeBytes(to));
    kernel(samples.data(), whole.data(), kLongest);
    for (size_t count = 0; count <= kLongest; ++count) {
      const size_t size = count * DTypeBytes(to);
      // One byte in, so that no element is aligned; exact sizes, so that a sanitizer sees more.
      std::vector<std::byte> src(1 + count * DTypeBytes(from));
      std::memcpy(src.data() + 1, samples.data(), src.size() - 1);
      std::vector<std::byte> dst(size + 2, std::byte{0xA5});
      kernel(src.data() + 1, dst.data() + 1, count);
      ASSERT_EQ(std::memcmp(dst.data() + 1, whole.data(), size), 0) << count;
      ASSERT_EQ(dst.front(), std::byte{0xA5}) << count;
      ASSERT_EQ(dst.back(), std::byte{0xA5}) << count;
    }
  });
}

#if defined(__x86_64__)
TEST_P(ConvertKernelsTest, KeepSubnormalsInFlushToZeroMode) {
  const unsigned int saved = _mm_getcsr();
  _mm_setcsr(saved | _MM_FLUSH_ZERO_ON | 0x0040);  // 0x0040: denormals are zero
  ForEachKernel(GetParam(), [](ConvertKernel kernel, DType from, DType to) {
    ExpectSameAsScalar(kernel, from, to, 6'000);
  });
  _mm_setcsr(saved);
}
#endif

std::string IsaName(const ::testing::TestParamInfo<KernelIsa>& info) {
  if (info.param == KernelIsa::kAvx512) return "Avx512";
  return info.param == KernelIsa::kAvx2 ? "Avx2" : "Baseline";
}

// Those that this processor has.
std::vector<KernelIsa> SupportedIsas() {
  std::vector<KernelIsa> isas = {KernelIsa::kBaseline, KernelIsa::kAvx2, KernelIsa::kAvx512};
  std::erase_if(isas, [](KernelIsa isa) { return !IsaSupported(isa); });
  return isas;
}

INSTANTIATE_TEST_SUITE_P(Isas, ConvertKernelsTest, ::testing::ValuesIn(SupportedIsas()), IsaName);

TEST(FindConvertKernelTest, ListsThePairsItPromises) {
  const KernelIsa isa = KernelIsa::kBaseline;
  for (const DTypeInfo& info : AllDTypes()) {
    const bool narrower_float = info.kind == DTypeKind::kFloat && info.bytes < 4;
    EXPECT_EQ(FindConvertKernel(DType::kFloat32, info.dtype, isa) != nullptr,
              narrower_float || info.dtype == DType::kFloat64)
        << info.name;
    EXPECT_EQ(FindConvertKernel(DType::kFloat64, info.dtype, isa) != nullptr,
              narrower_float || info.dtype == DType::kFloat32)
        << info.name;
    EXPECT_EQ(FindConvertKernel(DType::kFloat16, info.dtype, isa) != nullptr,
              info.dtype == DType::kFloat32 || info.dtype == DType::kFloat64)
        << info.name;
    EXPECT_EQ(FindConvertKernel(info.dtype, DType::kInt32, isa), nullptr) << info.name;
  }
}

TEST(BestIsaTest, IsSupported) {
  EXPECT_TRUE(IsaSupported(KernelIsa::kBaseline));
  EXPECT_TRUE(IsaSupported(BestIsa()));
}

}  // namespace
}  // namespace tessera
