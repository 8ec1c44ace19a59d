#include "tessera/core/convert.h"

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;

using Bytes = std::vector<std::byte>;

std::string DataPath(const std::string& name) {
  return std::string(TESSERA_TESTDATA) + "/floats/" + name;
}

Bytes Unzipped(const std::string& path) {
  Bytes bytes;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  Bytes block(1 << 16);
  for (int n; (n = gzread(file, block.data(), static_cast<unsigned>(block.size()))) > 0;) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + n);
  }
  gzclose(file);
  return bytes;
}

// testdata/floats, read once; make.py there tells what each field means.
struct Golden {
  nlohmann::json cases;
  Bytes tables;
};

const Golden& GetGolden() {
  static const Golden golden = [] {
    std::ifstream index(DataPath("index.json"));
    return Golden{nlohmann::json::parse(index).at("cases"), Unzipped(DataPath("tables.bin.gz"))};
  }();
  return golden;
}

Bytes Slice(const Bytes& bytes, size_t offset, size_t size) {
  return Bytes(bytes.begin() + offset, bytes.begin() + offset + size);
}

// The codes 0, 1, 2, ... of a type of one or two bytes.
Bytes AllCodes(DType dtype, size_t count) {
  Bytes codes(count * DTypeBytes(dtype));
  for (size_t code = 0; code < count; ++code) {
    std::memcpy(codes.data() + code * DTypeBytes(dtype), &code, DTypeBytes(dtype));
  }
  return codes;
}

std::string Hex(const Bytes& elements, size_t i, int bytes) {
  uint64_t code = 0;
  std::memcpy(&code, elements.data() + i * bytes, bytes);
  return fmt::format("{:#x}", code);
}

// Tells the first few elements that differ, as codes.
void ExpectSameElements(DType from, const Bytes& src, DType to, const Bytes& found,
                        const Bytes& expected) {
  const int bytes = DTypeBytes(to);
  int shown = 0;
  for (size_t i = 0; i < expected.size() / bytes && shown < 5; ++i) {
    if (std::memcmp(found.data() + i * bytes, expected.data() + i * bytes, bytes) == 0) continue;
    ++shown;
    ADD_FAILURE() << Hex(src, i, DTypeBytes(from)) << " became " << Hex(found, i, bytes)
                  << ", expected " << Hex(expected, i, bytes);
  }
}

void CheckCase(const nlohmann::json& golden_case, const Bytes& tables) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const DType from,
                               ParseDType(golden_case.at("from").get<std::string>()));
  TESSERA_ASSERT_OK_AND_ASSIGN(const DType to, ParseDType(golden_case.at("to").get<std::string>()));
  const size_t count = golden_case.at("count");
  const Bytes src = golden_case.contains("inputs")
                        ? Slice(tables, golden_case["inputs"], count * DTypeBytes(from))
                        : AllCodes(from, count);
  Bytes dst(count * DTypeBytes(to));
  ASSERT_THAT(ConvertElements(from, src, to, dst), IsOk());
  if (golden_case.contains("expected")) {
    const Bytes expected = Slice(tables, golden_case["expected"], dst.size());
    ExpectSameElements(from, src, to, dst, expected);
  }
  const auto* data = reinterpret_cast<const Bytef*>(dst.data());
  EXPECT_EQ(crc32(0, data, static_cast<uInt>(dst.size())), golden_case.at("crc32").get<uint32_t>());
}

class GoldenTest : public ::testing::TestWithParam<DType> {};

TEST_P(GoldenTest, EveryTargetGetsTheExpectedCodes) {
  ASSERT_FALSE(GetGolden().tables.empty());
  int checked = 0;
  for (const nlohmann::json& golden_case : GetGolden().cases) {
    if (golden_case.at("from") != std::string(DTypeName(GetParam()))) continue;
    SCOPED_TRACE("to " + golden_case.at("to").get<std::string>());
    CheckCase(golden_case, GetGolden().tables);
    ++checked;
  }
  EXPECT_EQ(checked, IsFloat(GetParam()) ? 13 : 14);
}

std::vector<DType> RealDTypes() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.kind != DTypeKind::kComplex) dtypes.push_back(info.dtype);
  }
  return dtypes;
}

INSTANTIATE_TEST_SUITE_P(From, GoldenTest, ::testing::ValuesIn(RealDTypes()),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

// Converts typed values; the sizes of the types are those of the dtypes.
template <typename To, typename From>
std::vector<To> Converted(DType from, const std::vector<From>& src, DType to) {
  std::vector<To> dst(src.size());
  EXPECT_THAT(ConvertElements(from, std::as_bytes(std::span(src)), to,
                              std::as_writable_bytes(std::span(dst))),
              IsOk());
  return dst;
}

TEST(ConvertElementsTest, ShortRunsOfBytesGiveTheSameAsLongOnes) {
  for (const DTypeInfo& to : AllDTypes()) {
    if (to.kind != DTypeKind::kFloat) continue;
    const Bytes src = AllCodes(DType::kFloat8E4m3fn, 256);
    Bytes whole(256 * to.bytes);
    Bytes halves(256 * to.bytes);
    ASSERT_THAT(ConvertElements(DType::kFloat8E4m3fn, src, to.dtype, whole), IsOk());
    for (size_t half : {0, 1}) {
      ASSERT_THAT(
          ConvertElements(DType::kFloat8E4m3fn, std::span(src).subspan(half * 128, 128), to.dtype,
                          std::span(halves).subspan(half * 128 * to.bytes, 128 * to.bytes)),
          IsOk());
    }
    EXPECT_EQ(halves, whole) << to.name;
  }
}

TEST(ConvertElementsTest, EqualDTypesCopyEveryBit) {
  for (const DTypeInfo& info : AllDTypes()) {
    Bytes src(16 * 7);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(255 - i);
    Bytes dst(src.size());
    ASSERT_THAT(ConvertElements(info.dtype, src, info.dtype, dst), IsOk());
    EXPECT_EQ(dst, src) << info.name;
  }
}

TEST(ConvertElementsTest, AnyByteButZeroIsTrue) {
  EXPECT_THAT((Converted<float, uint8_t>(DType::kBool, {0, 1, 2, 255}, DType::kFloat32)),
              ElementsAre(0, 1, 1, 1));
}

TEST(ConvertElementsTest, Integers64RoundOnceOnTheirWayToFloat32) {
  // Rounded to float64 first, each of these would become a tie.
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  const int64_t below_tie = (int64_t{1} << 62) + 3 * (int64_t{1} << 38) - 1;
  EXPECT_THAT((Converted<float, int64_t>(
                  DType::kInt64, {above_tie, -above_tie, below_tie, INT64_MIN}, DType::kFloat32)),
              ElementsAre(0x1.000002p62f, -0x1.000002p62f, 0x1.000002p62f, -0x1p63f));
}

TEST(ConvertElementsTest, ComplexConvertsBothHalves) {
  using Narrow = std::complex<float>;
  using Wide = std::complex<double>;
  EXPECT_THAT((Converted<Wide, Narrow>(DType::kComplex64, {{1.5f, -2.0f}, {0x1p-149f, -0.0f}},
                                       DType::kComplex128)),
              ElementsAre(Wide(1.5, -2), Wide(0x1p-149, -0.0)));
  EXPECT_THAT((Converted<Narrow, Wide>(DType::kComplex128, {{1e300, 1 + 0x1p-24 + 0x1p-50}},
                                       DType::kComplex64)),
              ElementsAre(Narrow(std::numeric_limits<float>::infinity(), 0x1.000002p0f)));
}

TEST(ConvertElementsTest, FloatsBecomeComplexWithoutImaginaryPart) {
  using Narrow = std::complex<float>;
  using Wide = std::complex<double>;
  EXPECT_THAT((Converted<Narrow, float>(DType::kFloat32, {1.5f, -2}, DType::kComplex64)),
              ElementsAre(Narrow(1.5f, 0), Narrow(-2, 0)));
  EXPECT_THAT((Converted<Wide, uint16_t>(DType::kBfloat16, {0x3F80, 0xC000}, DType::kComplex128)),
              ElementsAre(Wide(1, 0), Wide(-2, 0)));
  EXPECT_THAT((Converted<Narrow, uint8_t>(DType::kFloat8E5m2, {0x3C}, DType::kComplex64)),
              ElementsAre(Narrow(1, 0)));
}

TEST(ConvertElementsTest, LongRunsBecomeComplexToo) {
  std::vector<float> src(3000);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i);
  const auto dst = Converted<std::complex<double>>(DType::kFloat32, src, DType::kComplex128);
  for (size_t i = 0; i < src.size(); ++i) ASSERT_EQ(dst[i], std::complex<double>(src[i], 0));
}

TEST(ConvertElementsTest, NothingConvertsToNothing) {
  EXPECT_THAT(ConvertElements(DType::kFloat32, {}, DType::kBfloat16, {}), IsOk());
  EXPECT_THAT(ConvertElements(DType::kFloat32, {}, DType::kComplex64, {}), IsOk());
}

TEST(ConvertElementsTest, RejectsAPairThatItDoesNotKnow) {
  Bytes src(8);
  Bytes dst(8);
  EXPECT_THAT(
      ConvertElements(DType::kFloat64, src, DType::kInt64, dst),
      StatusIs(absl::StatusCode::kInvalidArgument, Eq("no conversion from float64 to int64")));
  EXPECT_THAT(
      ConvertElements(DType::kComplex64, src, DType::kFloat64, dst),
      StatusIs(absl::StatusCode::kInvalidArgument, Eq("no conversion from complex64 to float64")));
}

TEST(ConvertElementsTest, RejectsASourceThatEndsInsideAnElement) {
  Bytes src(7);
  Bytes dst(2);
  EXPECT_THAT(ConvertElements(DType::kFloat32, src, DType::kBfloat16, dst),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("src has 7 bytes, expected a multiple of 4, the size of float32")));
}

TEST(ConvertElementsTest, RejectsATargetOfAnotherLength) {
  Bytes src(12);
  for (size_t size : {0, 4, 5, 7, 8}) {
    Bytes dst(size);
    EXPECT_THAT(
        ConvertElements(DType::kFloat32, src, DType::kBfloat16, dst),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 Eq(Concat("dst has ", size, " bytes, expected 3 elements of 2 bytes, bfloat16"))));
  }
}

TEST(CanConvertTest, TakesExactlyThePromisedPairs) {
  const auto is_complex = [](const DTypeInfo& info) { return info.kind == DTypeKind::kComplex; };
  for (const DTypeInfo& from : AllDTypes()) {
    for (const DTypeInfo& to : AllDTypes()) {
      const bool to_float = !is_complex(from) && IsFloat(to.dtype);
      const bool to_complex = is_complex(to) && (is_complex(from) || IsFloat(from.dtype));
      EXPECT_EQ(CanConvert(from.dtype, to.dtype), from.dtype == to.dtype || to_float || to_complex)
          << from.name << " to " << to.name;
    }
  }
}

}  // namespace
}  // namespace tessera
