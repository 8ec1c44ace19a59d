#include "tessera/store/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::store {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ValidateKeyTest, TakesNamesSeparatedBySlashes) {
  for (const char* key : {"a", "a/b", ".zarray", "a/.zgroup", "0.0", "...", "a b", "\xc3\xa9"}) {
    EXPECT_THAT(ValidateKey(key), IsOk()) << key;
  }
  EXPECT_THAT(ValidateKey(std::string(255, 'x')), IsOk());
}

TEST(ValidateKeyTest, RefusesWhatCouldLeaveTheRoot) {
  const std::string nul("a\0b", 3);
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("."), std::string("a/."), nul, std::string(256, 'x'),
        std::string("a.tessera-tmp-1")}) {
    EXPECT_THAT(ValidateKey(key), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key '")))
        << key;
  }
}

TEST(ValidatePrefixTest, TheLastNameMayBeCut) {
  for (const char* prefix : {"", "a", "a/", "a/b", "a/.", "."}) {
    EXPECT_THAT(ValidatePrefix(prefix), IsOk()) << prefix;
  }
  for (const char* prefix : {"/", "../", "a//", "a/../b"}) {
    EXPECT_THAT(ValidatePrefix(prefix),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prefix '")))
        << prefix;
  }
}

}  // namespace
}  // namespace tessera::store
