#include "tessera/safetensors/shard_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Keys = std::vector<SizedKey>;

TEST(GroupKeysByShardSizeTest, ClosesAShardWhenTheNextKeyWouldNotFit) {
  const Keys keys{{"a", 8}, {"b", 8}, {"c", 8}};
  EXPECT_THAT(GroupKeysByShardSize(keys, 16)->shards,
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_THAT(GroupKeysByShardSize(keys, 7)->oversize, ElementsAre("a", "b", "c"));
  EXPECT_THAT(GroupKeysByShardSize({}, 7)->shards, IsEmpty());
}

TEST(GroupKeysByShardSizeTest, AnOversizeKeySitsAlone) {
  const auto layout = GroupKeysByShardSize(Keys{{"a", 4}, {"big", 100}, {"c", 4}, {"d", 12}}, 16);
  EXPECT_THAT(layout->shards,
              ElementsAre(ElementsAre("a"), ElementsAre("big"), ElementsAre("c", "d")));
  EXPECT_THAT(layout->oversize, ElementsAre("big"));
}

TEST(GroupKeysByShardSizeTest, RefusesSizesThatMakeNoSense) {
  EXPECT_THAT(GroupKeysByShardSize({}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shard size is 0")));
  EXPECT_THAT(GroupKeysByShardSize(Keys{{"a", -1}}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'a' has -1 bytes")));
}

TEST(OptimizeShardLayoutTest, TheVectorsOfTheReference) {
  EXPECT_THAT(
      OptimizeShardLayout(Keys{{"l.a", 10}, {"l.b", 10}, {"l.c", 10}, {"m.x", 5}}, 20)->shards,
      ElementsAre(ElementsAre("l.a", "l.b"), ElementsAre("l.c", "m.x")));
  const Keys keys{{"a.w", 8}, {"c", 4}, {"b.w", 24}, {"a.b", 8}};
  EXPECT_THAT(OptimizeShardLayout(keys, 16, ParentOrder::kCodePoint)->shards,
              ElementsAre(ElementsAre("a.w", "a.b"), ElementsAre("b.w"), ElementsAre("c")));
  EXPECT_THAT(OptimizeShardLayout(keys, 16)->shards,
              ElementsAre(ElementsAre("c"), ElementsAre("a.w", "a.b"), ElementsAre("b.w")));
  const Keys root{{"w", 4}, {"root.x", 4}, {"z.y", 4}};
  EXPECT_THAT(OptimizeShardLayout(root, 8, ParentOrder::kCodePoint)->shards,
              ElementsAre(ElementsAre("w", "root.x"), ElementsAre("z.y")));
}

TEST(OptimizeShardLayoutTest, LayersComeInTheOrderOfTheirNumbers) {
  const Keys keys{{"layers.10.w", 4}, {"layers.2.w", 4}, {"layers.1.w", 4}, {"layers.02.w", 4}};
  EXPECT_THAT(OptimizeShardLayout(keys, 4)->shards,
              ElementsAre(ElementsAre("layers.1.w"), ElementsAre("layers.02.w"),
                          ElementsAre("layers.2.w"), ElementsAre("layers.10.w")));
  EXPECT_THAT(OptimizeShardLayout(keys, 4, ParentOrder::kCodePoint)->shards,
              ElementsAre(ElementsAre("layers.02.w"), ElementsAre("layers.1.w"),
                          ElementsAre("layers.10.w"), ElementsAre("layers.2.w")));
}

Keys ArbitraryKeys() {
  Keys keys;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    const auto parent = *rc::gen::element<std::string>("", "a.", "l.1.", "l.10.", "l.2.");
    keys.push_back({parent + "k" + std::to_string(i), *rc::gen::inRange<int64_t>(0, 40)});
  }
  return keys;
}

int64_t BytesOf(const Keys& keys, const std::vector<std::string>& shard) {
  int64_t sum = 0;
  for (const SizedKey& key : keys) {
    if (std::find(shard.begin(), shard.end(), key.key) != shard.end()) sum += key.bytes;
  }
  return sum;
}

RC_GTEST_PROP(ShardLayoutProperty, EveryKeyStandsOnceAndOnlyLoneKeysExceedTheLimit, ()) {
  const Keys keys = ArbitraryKeys();
  const int64_t max_bytes = *rc::gen::inRange<int64_t>(1, 60);
  for (const auto& layout :
       {GroupKeysByShardSize(keys, max_bytes), OptimizeShardLayout(keys, max_bytes),
        OptimizeShardLayout(keys, max_bytes, ParentOrder::kCodePoint)}) {
    std::map<std::string, int> count;
    for (const auto& shard : layout->shards) {
      for (const std::string& key : shard) ++count[key];
      RC_ASSERT(!shard.empty());
      const int64_t bytes = BytesOf(keys, shard);
      const auto with_bytes = std::count_if(keys.begin(), keys.end(), [&](const SizedKey& key) {
        return key.bytes > 0 && std::find(shard.begin(), shard.end(), key.key) != shard.end();
      });
      RC_ASSERT(bytes <= max_bytes || with_bytes == 1);
    }
    RC_ASSERT(count.size() == keys.size());
    for (const auto& [key, times] : count) RC_ASSERT(times == 1);
  }
}

}  // namespace
}  // namespace tessera::safetensors
