#include "tessera/safetensors/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::safetensors {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr std::string_view kTransformersText = R"({
  "metadata": {
    "total_size": 20
  },
  "weight_map": {
    "a": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors"
  }
}
)";

IndexFile TwoFiles() {
  IndexFile index;
  index.total_size = 20;
  index.weight_map = {{"a", "model-00001-of-00002.safetensors"},
                      {"b", "model-00002-of-00002.safetensors"}};
  return index;
}

// The error of an index with that weight map.
absl::Status ErrorOfMap(std::string_view weight_map) {
  return DecodeIndexFile(Concat(R"({"weight_map":)", weight_map, "}")).status();
}

auto IsRefusedWith(std::string_view message) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(message)));
}

TEST(DecodeIndexFileTest, ReadsWhatTransformersWrites) {
  EXPECT_THAT(DecodeIndexFile(kTransformersText), IsOkAndHolds(TwoFiles()));
}

TEST(DecodeIndexFileTest, ReadsWhatEformerWrites) {
  IndexFile expected;
  expected.metadata = R"({"epoch":3,"note":"ä"})";
  expected.weight_map = {{"b", "m-00001-of-00001.safetensors"},
                         {"a", "m-00001-of-00001.safetensors"}};
  EXPECT_THAT(DecodeIndexFile(R"({"metadata": {"note": "ä", "epoch": 3}, "weight_map": )"
                              R"({"b": "m-00001-of-00001.safetensors", )"
                              R"("a": "m-00001-of-00001.safetensors"}})"),
              IsOkAndHolds(expected));
}

TEST(DecodeIndexFileTest, MetadataMayBeMissingNullOrOfAnyKindWithin) {
  EXPECT_THAT(DecodeIndexFile(R"({"weight_map":{}})"), IsOkAndHolds(IndexFile()));
  EXPECT_THAT(DecodeIndexFile(R"({"weight_map":{},"metadata":null})"), IsOkAndHolds(IndexFile()));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const IndexFile index,
      DecodeIndexFile(R"({"x":[{}],"metadata":{"total_size":1.5,"b":[1,null]},"weight_map":{}})"));
  EXPECT_EQ(index.total_size, std::nullopt);
  EXPECT_EQ(index.metadata, R"({"b":[1,null],"total_size":1.5})");
}

TEST(DecodeIndexFileTest, ATotalSizeThatDoesNotFitStaysAmongTheMetadata) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const IndexFile index,
      DecodeIndexFile(R"({"metadata":{"total_size":9223372036854775808},"weight_map":{}})"));
  EXPECT_EQ(index.total_size, std::nullopt);
  EXPECT_EQ(index.metadata, R"({"total_size":9223372036854775808})");
}

TEST(DecodeIndexFileTest, RefusesFilesOutsideOfTheFolder) {
  for (const std::string_view file : {"", ".", "..", "/etc/passwd", "../x.safetensors",
                                      "a/b.safetensors", "a\\\\b", "a\\u0000"}) {
    EXPECT_THAT(ErrorOfMap(Concat(R"({"w":")", file, R"("})")),
                IsRefusedWith("weight_map: tensor 'w': the file '"))
        << file;
  }
  EXPECT_THAT(ErrorOfMap(R"({"w":"../x"})"),
              IsRefusedWith("the file '../x' is not the name of one beside the index"));
}

TEST(DecodeIndexFileTest, RefusesATensorThatStandsThereTwice) {
  EXPECT_THAT(ErrorOfMap(R"({"w":"f","v":"f","\u0077":"g"})"),
              IsRefusedWith("weight_map: tensor 'w': the name stands there twice"));
}

TEST(DecodeIndexFileTest, RefusesMembersThatStandThereTwice) {
  EXPECT_THAT(DecodeIndexFile(R"({"weight_map":{},"weight_map":{}})"),
              IsRefusedWith("weight_map: byte 30: the member stands there twice"));
  EXPECT_THAT(DecodeIndexFile(R"({"metadata":{},"metadata":{},"weight_map":{}})"),
              IsRefusedWith("metadata: byte 26: the member stands there twice"));
  EXPECT_THAT(DecodeIndexFile(R"({"metadata":{"a":1,"a":1},"weight_map":{}})"),
              IsRefusedWith("metadata: bad JSON: the key 'a' stands twice in one object"));
}

TEST(DecodeIndexFileTest, RefusesOtherDocuments) {
  EXPECT_THAT(DecodeIndexFile(""), IsRefusedWith("byte 0: expected an object, found the end"));
  EXPECT_THAT(DecodeIndexFile("[]"), IsRefusedWith("byte 0: expected an object, found '[]'"));
  EXPECT_THAT(DecodeIndexFile("{}"), IsRefusedWith("the member weight_map is missing"));
  EXPECT_THAT(ErrorOfMap("[]"), IsRefusedWith("weight_map: byte 14: expected an object"));
  EXPECT_THAT(ErrorOfMap(R"({"w":1})"),
              IsRefusedWith("weight_map: tensor 'w': byte 19: expected a string, found '1}}'"));
  EXPECT_THAT(DecodeIndexFile(R"({"weight_map":{}} x)"),
              IsRefusedWith("byte 18: expected nothing more, found 'x'"));
  EXPECT_THAT(DecodeIndexFile(R"({"metadata":[],"weight_map":{}})"),
              IsRefusedWith("metadata: byte 12: expected an object, found array"));
  EXPECT_THAT(DecodeIndexFile("{\"weight_map\":{\"\xFF\":\"f\"}}"),
              IsRefusedWith("byte 16: the index is not UTF-8"));
}

TEST(EncodeIndexFileTest, WritesWhatTransformersWrites) {
  IndexFile index = TwoFiles();
  std::swap(index.weight_map[0], index.weight_map[1]);
  EXPECT_THAT(EncodeIndexFile(index), IsOkAndHolds(Eq(kTransformersText)));
}

TEST(EncodeIndexFileTest, EscapesAsPythonDoes) {
  IndexFile index;
  index.metadata = R"({"b": [], "a": {"x": "é", "w": 1.5}})";
  index.weight_map = {{"\x7F\n\"\xF0\x9F\x98\x80", "f"}};
  EXPECT_THAT(EncodeIndexFile(index), IsOkAndHolds(Eq(R"({
  "metadata": {
    "a": {
      "w": 1.5,
      "x": "\u00e9"
    },
    "b": []
  },
  "weight_map": {
    "\u007f\n\"\ud83d\ude00": "f"
  }
}
)")));
}

TEST(EncodeIndexFileTest, WithoutAnythingBothMembersAreEmpty) {
  EXPECT_THAT(EncodeIndexFile({}),
              IsOkAndHolds(Eq("{\n  \"metadata\": {},\n  \"weight_map\": {}\n}\n")));
}

TEST(EncodeIndexFileTest, RefusesWhatIsNoText) {
  IndexFile index;
  index.weight_map = {{"\xFF", "f"}};
  EXPECT_THAT(EncodeIndexFile(index), IsRefusedWith("weight_map: tensor '\\xff'"));
  index.weight_map = {{"a", "f"}, {"a", "f"}};
  EXPECT_THAT(EncodeIndexFile(index),
              IsRefusedWith("weight_map: tensor 'a': the name stands there twice"));
  index = {};
  index.metadata = "[]";
  EXPECT_THAT(EncodeIndexFile(index),
              IsRefusedWith("metadata: expected the text of an object, found '[]'"));
  index.metadata = "{";
  EXPECT_THAT(EncodeIndexFile(index), IsRefusedWith("metadata: bad JSON at byte"));
}

TEST(LooksLikeIndexFileTest, TellsByTheWeightMap) {
  EXPECT_TRUE(LooksLikeIndexFile(kTransformersText));
  EXPECT_TRUE(LooksLikeIndexFile(R"( {"metadata":{"a":[1]},"weight_map":{"w":)"));
  EXPECT_FALSE(LooksLikeIndexFile(R"({"metadata":{"weight_map":{}}})"));
  EXPECT_FALSE(LooksLikeIndexFile(R"({"metadata":1 "weight_map":{}})"));
  EXPECT_FALSE(LooksLikeIndexFile(R"(["weight_map"])"));
  EXPECT_FALSE(LooksLikeIndexFile(""));
}

}  // namespace
}  // namespace tessera::safetensors
