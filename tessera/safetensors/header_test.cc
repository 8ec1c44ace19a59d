#include "tessera/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::testing::Eq;

constexpr std::string_view kWorkedText =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
    R"("m":{"dtype":"BOOL","shape":[0,3],"data_offsets":[10,10]}}   )";

Header Worked() {
  return {.tensors = {{"b", DType::kFloat32, {2}, 0, 8},
                      {"a", DType::kBfloat16, {}, 8, 10},
                      {"m", DType::kBool, {0, 3}, 10, 10}},
          .metadata = {{"format", "pt"}}};
}

TEST(DecodeHeaderTest, ReadsTheWorkedFile) {
  EXPECT_THAT(DecodeHeader(kWorkedText, 10), IsOkAndHolds(Worked()));
}

TEST(EncodeHeaderTest, WritesTheWorkedFile) {
  EXPECT_THAT(EncodeHeader(Worked()),
              IsOkAndHolds(Eq(std::string("\xC8\0\0\0\0\0\0\0", 8) + std::string(kWorkedText))));
}

}  // namespace
}  // namespace tessera::safetensors
