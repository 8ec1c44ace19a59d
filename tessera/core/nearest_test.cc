#include "tessera/core/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistanceTest, CountsTheStepsBetweenTwoTexts) {
  EXPECT_EQ(EditDistance("", "", 5), 0u);
  EXPECT_EQ(EditDistance("kernel", "kernel", 5), 0u);
  EXPECT_EQ(EditDistance("kernle", "kernel", 5), 1u);
  EXPECT_EQ(EditDistance("krnel", "kernel", 5), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(EditDistance("a", "abcdefgh", 2), 3u);
}

TEST(NearestNamesTest, OrdersByDistanceThenNaturally) {
  EXPECT_THAT(
      NearestNames("layer.1.bias", std::vector<std::string_view>{"layers.10.bias", "layers.2.bias",
                                                                 "layers.1.bias", "embedding"}),
      ElementsAre("layers.1.bias", "layers.2.bias", "layers.10.bias"));
}

TEST(NearestNamesTest, FindsPartsAndLastParts) {
  EXPECT_THAT(NearestNames("q_proj", std::vector<std::string_view>{"model.layers.0.q_proj.kernel",
                                                                   "model.norm"}),
              ElementsAre("model.layers.0.q_proj.kernel"));
  EXPECT_THAT(
      NearestNames("transformer.h.0.kernel", std::vector<std::string_view>{"m.kernel", "m.bias"}),
      ElementsAre("m.kernel"));
}

TEST(NearestNamesTest, GivesNoneWhenNoneIsNear) {
  EXPECT_THAT(NearestNames("zz", std::vector<std::string_view>{"kernel", "bias"}), IsEmpty());
  EXPECT_THAT(NearestNames("zz", {}), IsEmpty());
}

TEST(DidYouMeanTest, IsTheEndOfASentence) {
  EXPECT_EQ(DidYouMean("tpp", std::vector<std::string_view>{"dp", "tp"}), "; did you mean 'tp'?");
  EXPECT_EQ(DidYouMean("ap", std::vector<std::string_view>{"dp", "tp", "kp"}),
            "; did you mean 'dp', 'kp' or 'tp'?");
  EXPECT_EQ(DidYouMean("x", std::vector<std::string_view>{"model"}), "");
}

}  // namespace
}  // namespace tessera
