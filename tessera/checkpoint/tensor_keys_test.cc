#include "tessera/checkpoint/tensor_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Key = std::vector<std::string>;

std::vector<Key> KeysOf(std::vector<std::string_view> names) { return KeysOfTensors(names); }

TEST(KeysOfTensorsTest, SplitsNamesAtTheirDots) {
  EXPECT_THAT(KeysOf({}), IsEmpty());
  EXPECT_THAT(KeysOf({"a.0.w", "a.0.wb", "b"}),
              ElementsAre(Key{"a", "0", "w"}, Key{"a", "0", "wb"}, Key{"b"}));
}

TEST(KeysOfTensorsTest, NamesInOneAnotherAreNotSplit) {
  EXPECT_THAT(KeysOf({"a.b.c", "a", "x.y"}), ElementsAre(Key{"a.b.c"}, Key{"a"}, Key{"x.y"}));
  EXPECT_THAT(KeysOf({"a.b", "a.b.c"}), ElementsAre(Key{"a.b"}, Key{"a.b.c"}));
}

TEST(KeysOfTensorsTest, NamesWithEmptyPartsAreNotSplit) {
  for (const std::string_view odd : {"", ".", ".a", "a.", "a..b"}) {
    SCOPED_TRACE(odd);
    EXPECT_THAT(KeysOf({"x.y", odd}), ElementsAre(Key{"x.y"}, Key{std::string(odd)}));
  }
}

}  // namespace
}  // namespace tessera::checkpoint
