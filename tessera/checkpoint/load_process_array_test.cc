#include "tessera/checkpoint/load_process_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/testing/far_platform.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::On24;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<array::Value> ReadFloats(std::string_view key) {
  if (key != "w") return NotFound("no tensor");
  static const std::vector<float> values{1, 2, 3, 4};
  TESSERA_ASSIGN_OR_RETURN(
      array::HostArray array,
      array::HostArray::CopyOf({{4}, DType::kFloat32}, std::as_bytes(std::span(values))));
  return array::Value(std::move(array));
}

DType DTypeOf(const absl::StatusOr<ProcessedArray>& processed) {
  if (const auto* host = std::get_if<array::HostArray>(&processed->value)) return host->dtype();
  return std::get<array::ShardedArray>(processed->value).dtype();
}

class ReadProcessArrayTest : public ::testing::Test {
 protected:
  absl::StatusOr<ProcessedArray> Run(const ReadProcessArrayOptions& options,
                                     std::string_view key = "w") {
    return ReadProcessArray(key, ReadFloats, *platform_, options);
  }
  std::unique_ptr<device::Platform> platform_ = array::testing::Host(8);
};

absl::StatusOr<array::Value> Same(array::Value value) { return value; }

TEST_F(ReadProcessArrayTest, CountsOnlyAFunctionThatIsMissing) {
  EXPECT_EQ(Run({})->mismatch, 0);
  EXPECT_EQ(Run({})->key, "w");
  EXPECT_EQ(Run({.functions = {{"x", Same}}})->mismatch, 1);
  EXPECT_EQ(Run({.functions = {{"w", Same}}})->mismatch, 0);
  EXPECT_THAT(Run({.functions = {{"x", Same}}, .mismatch_allowed = false}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("w: no function")));
  const ValueFunction fails = [](array::Value) { return absl::NotFoundError("a bug"); };
  EXPECT_THAT(Run({.functions = {{"w", fails}}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("w: a bug")));
  EXPECT_THAT(Run({}, "v"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("v: no tensor")));
}

TEST_F(ReadProcessArrayTest, PlacesThenCallsBackThenCasts) {
  ReadProcessArrayOptions options{.dtype = "bf16"};
  options.functions["w"] = [&](array::Value value) -> absl::StatusOr<array::Value> {
    TESSERA_ASSIGN_OR_RETURN(
        array::ShardedArray placed,
        array::ShardedArray::FromHost(std::get<array::HostArray>(value).view(), DType::kFloat32,
                                      On24({"tp"}), *platform_));
    return array::Value(std::move(placed));
  };
  DType seen = DType::kBool;
  options.callback = [&](array::Value value, std::string_view) -> absl::StatusOr<array::Value> {
    seen = std::get<array::ShardedArray>(value).dtype();
    return value;
  };
  const auto processed = Run(options);
  EXPECT_EQ(seen, DType::kFloat32);
  EXPECT_EQ(DTypeOf(processed), DType::kBfloat16);
  const auto& array = std::get<array::ShardedArray>(processed->value);
  ASSERT_EQ(array.shards().size(), 8);
  EXPECT_EQ(*reinterpret_cast<const uint16_t*>(array.shards()[7].buffer.data()), 0x4080);
}

TEST_F(ReadProcessArrayTest, CastsOnlyCommonFloats) {
  EXPECT_EQ(DTypeOf(Run({.dtype = "bf16"})), DType::kBfloat16);
  EXPECT_EQ(DTypeOf(Run({.dtype = "f64"})), DType::kFloat64);
  const auto ints = [](std::string_view) -> absl::StatusOr<array::Value> {
    return array::Value(HostIota({4}));
  };
  EXPECT_EQ(DTypeOf(ReadProcessArray("w", ints, *platform_, {.dtype = "bf16"})), DType::kInt32);
  EXPECT_THAT(Run({.dtype = "quad"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("quad")));
  EXPECT_THAT(Run({.dtype = "int32"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("int32")));
}

TEST_F(ReadProcessArrayTest, FarArraysAreCastToo) {
  device::testing::FarPlatform far(0, {0, 1, 2, 3, 4, 5, 6, 7});
  ReadProcessArrayOptions options{.dtype = "f64"};
  options.functions["w"] = [&](array::Value value) -> absl::StatusOr<array::Value> {
    TESSERA_ASSIGN_OR_RETURN(array::ShardedArray placed,
                             array::ShardedArray::FromHost(std::get<array::HostArray>(value).view(),
                                                           DType::kFloat32, On24({"dp"}), far));
    return array::Value(std::move(placed));
  };
  EXPECT_EQ(DTypeOf(ReadProcessArray("w", ReadFloats, far, options)), DType::kFloat64);
}

}  // namespace
}  // namespace tessera::checkpoint
