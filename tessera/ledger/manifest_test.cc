#include "tessera/ledger/manifest.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const char* const kZarray = R"({"chunks":[2],"shape":[4],"zarr_format":2})";

Manifest SmallManifest() {
  return {.id = "s1",
          .prefix = "model",
          .index_digest = {1, 2},
          .arrays = {{"model/w", ".zarray", kZarray, {{"0", 17, {3, 4}}, {"1", 18, {5, 6}}}},
                     {"model/b", ".zarray", kZarray, {{"0", 19, {7, 8}}}},
                     {"model/e", "zarr.json", "{}", {}}},
          .files = {{"model_structure.json", 20, {9, 10}}}};
}

// A manifest with a right digest around `rest`, which follows the first line.
std::string Around(std::string_view rest) {
  return Concat(R"({"digest":")", HashOf(rest).Hex(), "\",\n", rest);
}

// The small manifest with `from` replaced by `to`, and the digest made right again.
std::string Edited(std::string_view from, std::string_view to) {
  std::string text = *EncodeManifest(SmallManifest());
  text.erase(0, text.find('\n') + 1);
  const size_t at = text.find(from);
  TESSERA_CHECK(at != std::string::npos);
  text.replace(at, from.size(), to);
  return Around(text);
}

TEST(EncodeManifestTest, WritesEqualDocumentsOnce) {
  const std::string rest =
      R"("schema":1,"id":"s1","prefix":"model","index":"00000000000000010000000000000002",)"
      R"("metadata":["{\"chunks\":[2],\"shape\":[4],\"zarr_format\":2}","{}"],"arrays":[)"
      "\n"
      R"(["model/w",".zarray",0,[["0",17,"00000000000000030000000000000004"],)"
      R"(["1",18,"00000000000000050000000000000006"]]])"
      "\n"
      R"(,["model/b",".zarray",0,[["0",19,"00000000000000070000000000000008"]]])"
      "\n"
      R"(,["model/e","zarr.json",1,[]]],)"
      R"("files":[["model_structure.json",20,"0000000000000009000000000000000a"]]})";
  EXPECT_THAT(EncodeManifest(SmallManifest()), IsOkAndHolds(Around(rest)));
}

TEST(DecodeManifestTest, GivesBackWhatWasEncoded) {
  EXPECT_THAT(DecodeManifest(*EncodeManifest(SmallManifest())), IsOkAndHolds(SmallManifest()));
  EXPECT_THAT(DecodeManifest(*EncodeManifest(Manifest())), IsOkAndHolds(Manifest()));
  Manifest odd = SmallManifest();
  odd.prefix = "é\U0001F333\"\n";
  odd.arrays = {{".", ".zarray", "raw é\t", {{"c/0/1", INT64_MAX, {~0u, ~0u}}}}};
  odd.replaces = ".tessera/manifests/s1.json";
  EXPECT_THAT(DecodeManifest(*EncodeManifest(odd)), IsOkAndHolds(odd));
}

// As FORMAT.md shows it.
TEST(EncodeManifestTest, WritesTheExampleOfTheFormatPage) {
  const Manifest manifest{.id = "s1",
                          .prefix = "model",
                          .index_digest = {1, 2},
                          .arrays = {{"model/w", ".zarray", "{}", {{"0", 17, {3, 4}}}}}};
  EXPECT_THAT(EncodeManifest(manifest),
              IsOkAndHolds("{\"digest\":\"44c3db76282c6d7173b3ca2374b9da0c\",\n"
                           R"("schema":1,"id":"s1","prefix":"model",)"
                           R"("index":"00000000000000010000000000000002",)"
                           R"("metadata":["{}"],"arrays":[)"
                           "\n"
                           R"(["model/w",".zarray",0,[["0",17,)"
                           R"("00000000000000030000000000000004"]]]],"files":[]})"));
}

TEST(EncodeManifestTest, RefusesTextThatIsNotUtf8) {
  Manifest bad = SmallManifest();
  bad.arrays[0].path = "model/\xFF";
  EXPECT_THAT(EncodeManifest(bad),
              StatusIs(kInvalid, "manifest: text that is not UTF-8 cannot be written: '\\xff'"));
}

TEST(DecodeManifestTest, RefusesEachFlippedByte) {
  const std::string text = *EncodeManifest(SmallManifest());
  for (size_t at = 0; at < text.size(); ++at) {
    for (const int mask : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      ASSERT_THAT(DecodeManifest(damaged),
                  StatusIs(kDataLoss, AnyOf(HasSubstr("does not begin like a manifest"),
                                            HasSubstr("the manifest is damaged"))))
          << at;
    }
  }
}

TEST(DecodeManifestTest, RefusesEachTruncationAndAddition) {
  const std::string text = *EncodeManifest(SmallManifest());
  for (size_t size = 0; size < text.size(); ++size) {
    ASSERT_THAT(DecodeManifest(text.substr(0, size)),
                StatusIs(kDataLoss, AnyOf(HasSubstr("does not begin like a manifest"),
                                          HasSubstr("the manifest is damaged"))));
  }
  EXPECT_THAT(DecodeManifest(text + "\n"), StatusIs(kDataLoss, HasSubstr("is damaged")));
}

TEST(DecodeManifestTest, ErrorsNameTheField) {
  const auto edited = [](std::string_view from, std::string_view to) {
    return DecodeManifest(Edited(from, to)).status();
  };
  EXPECT_THAT(DecodeManifest(Around("}")), StatusIs(kInvalid, "bad JSON at byte 46"));
  EXPECT_THAT(DecodeManifest(Around("\"x\":1}")),
              StatusIs(kInvalid, "schema: the field is missing"));
  EXPECT_THAT(edited("\"schema\":1", "\"schema\":2"),
              StatusIs(kInvalid, "schema: found 2, this version reads 1"));
  EXPECT_THAT(edited("\"id\":\"s1\"", "\"id\":7"),
              StatusIs(kInvalid, "id: expected a string, found 7"));
  EXPECT_THAT(edited("\"0000", "\"X000"), StatusIs(kInvalid, HasSubstr("index: ")));
  EXPECT_THAT(edited("17,", "-17,"),
              StatusIs(kInvalid, "arrays[0][3][0]: expected a size from 0 up, found -17"));
  EXPECT_THAT(edited("17,", "9223372036854775808,"),
              StatusIs(kInvalid, "arrays[0][3][0]: 9223372036854775808 does not fit 63 bits"));
  EXPECT_THAT(edited("\".zarray\",0", "\".zarray\",2"),
              StatusIs(kInvalid, "arrays[0][2]: document 2 of 2"));
  EXPECT_THAT(
      edited("\"zarr.json\"", "\"zgroup\""),
      StatusIs(kInvalid,
               "arrays[2][1]: expected '.zarray', 'zarr.json' or 'tensor.json', found 'zgroup'"));
  EXPECT_THAT(edited(",[]]", "]"), StatusIs(kInvalid, "arrays[2]: expected a list of 4 values"));
  EXPECT_THAT(edited("[\"0\",19,", "[\"0\","),
              StatusIs(kInvalid, "arrays[1][3][0]: expected a list of name, size and hash"));
}

TEST(DecodeManifestTest, RefusesUnsafeAndRepeatedNames) {
  const auto edited = [](std::string_view from, std::string_view to) {
    return DecodeManifest(Edited(from, to)).status();
  };
  EXPECT_THAT(edited("model/w", "../w"),
              StatusIs(kInvalid, "arrays[0]: unsafe path '../w': it has the part '..'"));
  EXPECT_THAT(edited("model/w", "/w"),
              StatusIs(kInvalid, "arrays[0]: unsafe path '/w': it is absolute"));
  EXPECT_THAT(edited("model/w", ".tessera/w"), StatusIs(kInvalid, HasSubstr("its own files")));
  EXPECT_THAT(edited("[\"1\",18", "[\"../1\",18"),
              StatusIs(kInvalid, "arrays[0][3][1]: unsafe path '../1': it has the part '..'"));
  EXPECT_THAT(edited("[\"1\",18", "[\"0\",18"),
              StatusIs(kInvalid, "arrays[0][3]: the name '0' stands twice"));
  EXPECT_THAT(edited("model/b", "model/w"),
              StatusIs(kInvalid, "arrays: the path 'model/w' stands twice"));
  EXPECT_THAT(edited("model/b", "model/w/0"),
              StatusIs(kInvalid, "arrays: paths collide: 'model/w/0' lies inside 'model/w'"));
  EXPECT_THAT(edited("model_structure", "/model_structure"),
              StatusIs(kInvalid, HasSubstr("files[0]: unsafe path")));
}

TEST(DecodeManifestTest, ManyArraysTakeAMoment) {
  Manifest large{.id = "s1", .prefix = "model"};
  for (int i = 0; i < 100000; ++i) {
    large.arrays.push_back({Concat("model/layers/", i, "/attention/kernel"),
                            ".zarray",
                            kZarray,
                            {{"0.0", 4096, {1, static_cast<uint64_t>(i)}}}});
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string text = *EncodeManifest(large);
  const auto encoded = std::chrono::steady_clock::now();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Manifest back, DecodeManifest(text));
  const auto decoded = std::chrono::steady_clock::now();
  EXPECT_EQ(back, large);
  const auto milliseconds = [](auto time) {
    return static_cast<int>(std::chrono::duration<double, std::milli>(time).count());
  };
  RecordProperty("encode_ms", milliseconds(encoded - start));
  RecordProperty("decode_ms", milliseconds(decoded - encoded));
  // Quadratic work would take minutes; a loaded machine does not.
  EXPECT_LT(decoded - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace tessera::ledger
