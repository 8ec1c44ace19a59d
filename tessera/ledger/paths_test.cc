#include "tessera/ledger/paths.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

using Paths = std::vector<std::string>;

std::vector<std::string_view> Views(const Paths& paths) { return {paths.begin(), paths.end()}; }

bool HoldsOrIs(std::string_view outer, std::string_view inner) {
  return outer == "." || outer == inner || inner.starts_with(std::string(outer) + "/");
}

// Paths of few names, so that many collide; '-' and '0' sort before and after the slash.
Paths RandomPaths(std::mt19937_64& random) {
  static constexpr std::string_view kNames[] = {"a", "a-", "a0", "b"};
  Paths paths;
  for (size_t count = random() % 5; count > 0; --count) {
    std::string path(kNames[random() % 4]);
    for (size_t more = random() % 3; more > 0; --more)
      path += "/" + std::string(kNames[random() % 4]);
    paths.push_back(random() % 40 == 0 ? "." : path);
  }
  return paths;
}

TEST(FindNestedTest, AgreesWithComparingAllPairs) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    const Paths paths = RandomPaths(random);
    bool expected = false;
    for (const std::string& outer : paths) {
      for (const std::string& inner : paths) {
        expected |= outer != inner && HoldsOrIs(outer, inner);
      }
    }
    const auto found = FindNested(Views(paths));
    ASSERT_EQ(found.has_value(), expected) << ::testing::PrintToString(paths);
    if (found.has_value()) {
      EXPECT_TRUE(HoldsOrIs(paths[found->outer], paths[found->inner]));
    }
  }
}

TEST(FindEncounterTest, AgreesWithComparingAllPairs) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 5000; ++round) {
    const Paths ours = RandomPaths(random);
    const Paths theirs = RandomPaths(random);
    const auto meet = [](const std::string& a, const std::string& b) {
      return HoldsOrIs(a, b) || HoldsOrIs(b, a);
    };
    bool expected = false;
    for (const std::string& a : ours) {
      for (const std::string& b : theirs) expected |= meet(a, b);
    }
    const auto found = FindEncounter(Views(ours), Views(theirs));
    ASSERT_EQ(found.has_value(), expected)
        << ::testing::PrintToString(ours) << " " << ::testing::PrintToString(theirs);
    if (found.has_value()) {
      EXPECT_TRUE(meet(ours[found->ours], theirs[found->theirs]));
    }
  }
}

TEST(CheckSafeFileTest, OurOwnFilesAreFilesButNoArrays) {
  EXPECT_THAT(CheckSafeFile(".tessera/manifests/s1.json"), IsOk());
  EXPECT_THAT(CheckSafeArray(".tessera/manifests"), StatusIs(kInvalid, HasSubstr("its own files")));
  EXPECT_THAT(CheckSafeArray(".tessera2"), IsOk());
  EXPECT_THAT(CheckSafeArray("."), IsOk());
  EXPECT_THAT(CheckSafeFile("."), StatusIs(kInvalid, "unsafe path '.': it has the part '.'"));
}

}  // namespace
}  // namespace tessera::ledger
