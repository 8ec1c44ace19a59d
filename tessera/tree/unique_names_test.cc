#include "tessera/tree/unique_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::tree {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Eq;

TEST(UniqueNamesTest, NamesBothLeaves) {
  UniqueNames names;
  EXPECT_THAT(names.Add("a.b", "['a.b']"), IsOk());
  EXPECT_THAT(names.Add("a", "['a']"), IsOk());
  EXPECT_THAT(names.Add("a.b", "['a']['b']"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("leaves ['a.b'] and ['a']['b'] would both be named 'a.b'")));
}

TEST(UniqueNamesTest, TheRootHasAName) {
  UniqueNames names;
  EXPECT_THAT(names.Add("", ""), IsOk());
  EXPECT_THAT(names.Add("", "['']"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Eq("leaves (the root) and [''] would both be named ''")));
}

}  // namespace
}  // namespace tessera::tree
