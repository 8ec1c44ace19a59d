#include "tessera/ledger/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kTwoLists = R"({
  "format": "tensorstore", "version": "0.1.0",
  "prefixes": {
    "opt": [{"path": "opt/mu/w", "shape": [2], "dtype": "float32"}],
    "model": [{"path": "model/w", "shape": [8, 4], "dtype": "bfloat16"},
              {"path": "model/a%2Eb", "shape": [], "dtype": "int32", "key": ["model", "a.b"]}]
  }})";

TEST(DecodeIndexFileTest, KeepsTheOrderOfTheFile) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto index, DecodeIndexFile(kTwoLists));
  EXPECT_EQ(index.version, "0.1.0");
  ASSERT_TRUE(index.prefixes.has_value());
  ASSERT_EQ(index.prefixes->size(), 2u);
  EXPECT_EQ(index.prefixes->at(0).first, "opt");
  const auto& model = index.prefixes->at(1).second;
  EXPECT_EQ(model[0], (ArrayRecord{"model/w", {8, 4}, "bfloat16"}));
  EXPECT_THAT(*model[1].key, ElementsAre("model", "a.b"));
  EXPECT_FALSE(index.arrays.has_value());
}

TEST(DecodeIndexFileTest, ErrorsNameTheField) {
  EXPECT_THAT(DecodeIndexFile("{"), StatusIs(kInvalid, HasSubstr("bad JSON")));
  EXPECT_THAT(DecodeIndexFile("{}"), StatusIs(kInvalid, "format: the field is missing"));
  EXPECT_THAT(DecodeIndexFile(R"({"format": "other"})"),
              StatusIs(kInvalid, "format: expected 'tensorstore', found 'other'"));
  EXPECT_THAT(DecodeIndexFile(R"({"format": "tensorstore", "arrays": [{"path": "w"}]})"),
              StatusIs(kInvalid, "arrays[0].shape: the field is missing"));
  EXPECT_THAT(DecodeIndexFile(R"({"format": "tensorstore", "prefixes": {"m": [{"path": "w",
      "shape": [-1], "dtype": "int8"}]}})"),
              StatusIs(kInvalid, HasSubstr("prefixes.m[0].shape[0]: expected a size from 0 up")));
  EXPECT_THAT(DecodeIndexFile(R"({"format": "tensorstore", "arrays": [{"path": "w", "shape": [],
      "dtype": "int8", "key": [1]}]})"),
              StatusIs(kInvalid, "arrays[0].key: expected a list of strings, found [1]"));
}

TEST(SelectArraysTest, ChoosesTheListThatIsMeant) {
  const auto index = *DecodeIndexFile(kTwoLists);
  EXPECT_EQ(SelectArrays(index, "model")->arrays.size(), 2u);
  EXPECT_THAT(SelectArrays(index, ""),
              StatusIs(kInvalid, HasSubstr("one must be chosen: 'opt', 'model'")));
  EXPECT_THAT(SelectArrays(index, "nope"),
              StatusIs(kInvalid, "the index has no prefix 'nope'; known are 'opt', 'model'"));
  const TensorstoreIndex single{"", {{{"m", {{"m/w", {2}, "int8"}}}}}, {}};
  EXPECT_EQ(SelectArrays(single, "")->prefix, "m");
  const TensorstoreIndex old{"", {}, {{{"w", {2}, "int8"}}}};
  EXPECT_EQ(SelectArrays(old, "anything")->arrays.size(), 1u);
  EXPECT_THAT(SelectArrays(TensorstoreIndex{}, "")->arrays, IsEmpty());
}

TEST(KeyWithoutPrefixTest, StripsWholeComponents) {
  const auto key = [](std::string path, std::string_view prefix) {
    return KeyWithoutPrefix({std::move(path), {}, "int8"}, prefix);
  };
  EXPECT_THAT(key("model/a/w", "model"), ElementsAre("a", "w"));
  EXPECT_THAT(key("modela/w", "model"), ElementsAre("modela", "w"));
  EXPECT_THAT(key("a/b/w", "a.b"), ElementsAre("w"));
  EXPECT_THAT(key("w", ""), ElementsAre("w"));
  EXPECT_THAT(key(".", ""), IsEmpty());
  EXPECT_THAT(key("m", "m"), IsEmpty());
  const ArrayRecord ours{"a%2Eb/w", {}, "int8", {{"a.b", "w"}}};
  EXPECT_THAT(KeyWithoutPrefix(ours, "a.b"), ElementsAre("w"));
}

TEST(DecodeIndexFileTest, ErrorsNameTheFieldOfOurMember) {
  const auto decode = [](std::string_view own) {
    return DecodeIndexFile(Concat(R"({"format": "tensorstore", "tessera": )", own, "}"));
  };
  EXPECT_THAT(decode("1"), StatusIs(kInvalid, "tessera: expected an object, found 1"));
  EXPECT_THAT(decode("{}"), StatusIs(kInvalid, "tessera.schema: the field is missing"));
  EXPECT_THAT(decode(R"({"schema": 2})"),
              StatusIs(kInvalid, "tessera.schema: found 2, this version reads 1"));
  EXPECT_THAT(decode(R"({"schema": 1, "files": [["a/../b", 1, ""]]})"),
              StatusIs(kInvalid, HasSubstr("tessera.files[0]: unsafe path 'a/../b'")));
  EXPECT_THAT(decode(R"({"schema": 1, "prefixes": {"m": {"nbytes": -1}}})"),
              StatusIs(kInvalid, "tessera.prefixes.m.nbytes: expected a size from 0 up, found -1"));
  EXPECT_THAT(decode(R"({"schema": 1, "prefixes": {"": {"nbytes": 1}}})"),
              StatusIs(kInvalid, HasSubstr("a note with an empty prefix")));
  EXPECT_THAT(decode(R"({"schema": 1, "arrays": {"manifest": "/etc/x", "nbytes": 1}})"),
              StatusIs(kInvalid, "tessera.arrays.manifest: unsafe path '/etc/x': it is absolute"));
  EXPECT_THAT(decode(R"({"schema": 1, "arrays": {"nbytes": 1, "structure": [true]}})"),
              StatusIs(kInvalid, "tessera.arrays.structure[0]: expected an object, found boolean"));
}

TEST(DecodeIndexFileTest, PathsOfWindowsGetSlashes) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto index, DecodeIndexFile(R"({"format": "tensorstore",
      "arrays": [{"path": "m\\a\\w", "shape": [], "dtype": "int8"},
                 {"path": "m/a\\b", "shape": [], "dtype": "int8"}]})"));
  EXPECT_EQ(index.arrays->at(0).path, "m/a/w");
  EXPECT_EQ(index.arrays->at(1).path, "m/a\\b");
}

TEST(CheckRecordsTest, RefusesUnsafePathsWithTheirEntry) {
  const auto check = [](std::string path) {
    const ArrayRecord records[] = {{"ok/w", {}, "int8"}, {std::move(path), {}, "int8"}};
    return CheckRecords(records);
  };
  EXPECT_THAT(check("a/b"), IsOk());
  EXPECT_THAT(check("ok/w"), IsOk());
  EXPECT_THAT(check("ok/w2"), IsOk());
  EXPECT_THAT(check("..a/b..c/...d"), IsOk());
  EXPECT_THAT(check("../../etc"),
              StatusIs(kInvalid, "index entry 1: unsafe path '../../etc': it has the part '..'"));
  EXPECT_THAT(check("/etc"), StatusIs(kInvalid, HasSubstr("'/etc': it is absolute")));
  EXPECT_THAT(check(""), StatusIs(kInvalid, HasSubstr("'': it is empty")));
  EXPECT_THAT(check("a//b"), StatusIs(kInvalid, HasSubstr("a part of it is empty")));
  EXPECT_THAT(check("a/"), StatusIs(kInvalid, HasSubstr("a part of it is empty")));
  EXPECT_THAT(check("a/./b"), StatusIs(kInvalid, HasSubstr("it has the part '.'")));
  EXPECT_THAT(check(std::string("a\0b", 3)), StatusIs(kInvalid, HasSubstr("it has a NUL")));
  EXPECT_THAT(check("a/w.__lock"), StatusIs(kInvalid, HasSubstr("a lock file")));
  EXPECT_THAT(check(".tessera"), StatusIs(kInvalid, HasSubstr("its own files")));
  EXPECT_THAT(check(".tessera/data/x"), StatusIs(kInvalid, HasSubstr("its own files")));
  EXPECT_THAT(check("a\\b"), StatusIs(kInvalid, HasSubstr("read as slashes")));
}

TEST(CheckRecordsTest, RefusesAPathInsideAnother) {
  const auto check = [](std::vector<std::string> paths) {
    std::vector<ArrayRecord> records;
    for (std::string& path : paths) records.push_back({std::move(path), {}, "int8"});
    return CheckRecords(records);
  };
  EXPECT_THAT(
      check({"a/b/c", "a-b", "a"}),
      StatusIs(kInvalid, "index: paths collide: entry 0, 'a/b/c', lies inside entry 2, 'a'"));
  EXPECT_THAT(check({".", "w"}),
              StatusIs(kInvalid, "index: paths collide: entry 1, 'w', lies inside entry 0, '.'"));
  EXPECT_THAT(check({"a", "a-b", "a.b", "ab", "a0/b"}), IsOk());
  EXPECT_THAT(check({"."}), IsOk());
  EXPECT_THAT(check({}), IsOk());
}

}  // namespace
}  // namespace tessera::ledger
