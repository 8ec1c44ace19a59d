#include "tessera/ledger/pickle_scalar.h"

#include <bit>
#include <complex>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/pickle_base64.h"
#include "tessera/ledger/testing/tree_def_cases.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

using Value = std::optional<tree::Scalar>;

double Hex(const nlohmann::json& text) {
  return std::strtod(text.get_ref<const std::string&>().c_str(), nullptr);
}

Value ValueOf(const std::string& kind, const nlohmann::json& value) {
  if (kind == "bool") return value.get<bool>();
  if (kind == "int") return value.get<int64_t>();
  if (kind == "float") return Hex(value);
  if (kind == "complex") return std::complex<double>(Hex(value[0]), Hex(value[1]));
  if (kind == "str") return value.get<std::string>();
  return std::nullopt;
}

std::string Encoded(const Value& value) { return EncodeBase64(*EncodeScalarPickle(value)); }

// What Python wrote is what is written, which tells -0.0 and NaN apart as well.
TEST(ScalarPickleTest, IsByteForByteWhatPythonWrites) {
  int count = 0;
  for (const auto& entry : testing::RecordedCases().at("scalars")) {
    const std::string pickle = entry[0];
    EXPECT_EQ(Encoded(ValueOf(entry[1], entry[2])), pickle) << entry.dump();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Value decoded,
                                 DecodeScalarPickle(testing::FromBase64(entry[0])));
    EXPECT_EQ(Encoded(decoded), pickle) << entry.dump();
    ++count;
  }
  EXPECT_EQ(count, 29);
}

TEST(ScalarPickleTest, ReadsTheVectorsOfTheFormat) {
  const auto decoded = [](const char* text) { return DecodeScalarPickle(*DecodeBase64(text)); };
  EXPECT_THAT(decoded("gAROLg=="), IsOkAndHolds(Value()));
  EXPECT_THAT(decoded("gASILg=="), IsOkAndHolds(Value(true)));
  EXPECT_THAT(decoded("gARLBy4="), IsOkAndHolds(Value(int64_t{7})));
  EXPECT_THAT(decoded("gASVBgAAAAAAAABK/////y4="), IsOkAndHolds(Value(int64_t{-1})));
  EXPECT_THAT(decoded("gASVCgAAAAAAAABHP/gAAAAAAAAu"), IsOkAndHolds(Value(1.5)));
  EXPECT_THAT(decoded("gASVCAAAAAAAAACMBGFkYW2ULg=="), IsOkAndHolds(Value("adam")));
}

TEST(ScalarPickleTest, OtherValuesAreRefused) {
  int count = 0;
  for (const auto& text : testing::RecordedCases().at("opaque")) {
    EXPECT_THAT(DecodeScalarPickle(testing::FromBase64(text)),
                StatusIs(absl::StatusCode::kUnimplemented, ::testing::Not(::testing::IsEmpty())))
        << text;
    ++count;
  }
  EXPECT_EQ(count, 11);
  EXPECT_THAT(DecodeScalarPickle(*DecodeBase64("gASVBgAAAAAAAABLAUsChpQu")),
              StatusIs(absl::StatusCode::kUnimplemented, "a pickled tuple is no plain value"));
}

TEST(ScalarPickleTest, TextThatIsNoUtf8IsNotWritten) {
  EXPECT_THAT(EncodeScalarPickle(Value("a\xff")),
              StatusIs(absl::StatusCode::kInvalidArgument, "the text is no UTF-8 at byte 1"));
}

}  // namespace
}  // namespace tessera::ledger
