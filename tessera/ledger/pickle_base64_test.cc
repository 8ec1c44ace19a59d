#include "tessera/ledger/pickle_base64.h"

#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::string Encoded(std::string_view text) { return EncodeBase64(std::as_bytes(std::span(text))); }

std::string Decoded(std::string_view text) {
  const auto bytes = DecodeBase64(text);
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

// The vectors of RFC 4648, section 10.
TEST(Base64Test, AgreesWithTheStandard) {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xfb\xff", "+/8="}};
  for (const auto& [plain, encoded] : cases) {
    EXPECT_EQ(Encoded(plain), encoded);
    EXPECT_EQ(Decoded(encoded), plain);
  }
}

TEST(Base64Test, OtherFormsAreRefused) {
  EXPECT_THAT(DecodeBase64("Zg"), StatusIs(kInvalid, HasSubstr("found 2 characters")));
  EXPECT_THAT(DecodeBase64("Zg=\n"), StatusIs(kInvalid, "character 2 is none of Base64"));
  EXPECT_THAT(DecodeBase64("Zm9v\nZg=="), StatusIs(kInvalid, HasSubstr("found 9 characters")));
  EXPECT_THAT(DecodeBase64("-_8="), StatusIs(kInvalid, "character 0 is none of Base64"));
  EXPECT_THAT(DecodeBase64("===="), StatusIs(kInvalid, "character 0 is none of Base64"));
  EXPECT_THAT(DecodeBase64("Zg==Zg=="), StatusIs(kInvalid, "character 2 is none of Base64"));
  EXPECT_THAT(DecodeBase64("Zh=="), StatusIs(kInvalid, HasSubstr("bits set behind")));
  EXPECT_THAT(DecodeBase64("Zm9="), StatusIs(kInvalid, HasSubstr("bits set behind")));
}

}  // namespace
}  // namespace tessera::ledger
