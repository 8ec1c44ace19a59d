#include "tessera/ledger/structure_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kInvalid;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kMismatch = absl::StatusCode::kFailedPrecondition;

SavedTree Array(int64_t record) { return SavedTree(SavedLeaf(ArrayLeaf{record})); }
SavedTree Plain(tree::Scalar scalar) { return SavedTree(SavedLeaf(std::move(scalar))); }

std::string ReadFile(const std::string& name) {
  std::ifstream file(TESSERA_TESTDATA "/treedefs/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of two leaves, "m.a" an array and "m.b" the number 7, with one text replaced.
std::string Small(const std::string& from = "", const std::string& to = "") {
  std::string text = R"({"format": "pytree-structure", "version": "0.1.0", "prefix": "m",
    "treedef_b64": "", "leaf_keys_full": ["m.a", "m.b"], "arr_mask": [true, false],
    "array_keys": ["m.a"], "array_relpaths": ["m/a"], "nonarray_payload": {"1": "gARLBy4="},
    "safetensors_file": null, "extras": {}})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(StructureFileTest, WhatEformerWroteIsReadAndWrittenByteForByte) {
  const std::string text = ReadFile("eformer_structure.json");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto file, DecodeStructureFile(text, "model"));
  EXPECT_EQ(file.version, "0.1.0");
  EXPECT_EQ(file.backend, "tensorstore");
  EXPECT_EQ(file.leaf_keys.size(), 13u);
  EXPECT_EQ(file.array_paths.back(), "model/step");
  EXPECT_EQ(file.values_base64.at(0), "gAROLg==");
  EXPECT_THAT(EncodeStructureFile(file), IsOkAndHolds(text));
}

TEST(StructureFileTest, ExtrasKeepTheirOrderAndNaN) {
  const std::string text = ReadFile("optimizer_structure.json");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto file, DecodeStructureFile(text, "tx"));
  EXPECT_THAT(file.extras, HasSubstr("\"loss\": NaN"));
  EXPECT_THAT(EncodeStructureFile(file), IsOkAndHolds(text));
}

TEST(StructureFileTest, IsNamedByThePrefix) {
  EXPECT_EQ(StructureFileName("tx"), "tx_structure.json");
  EXPECT_EQ(StructureFileName(""), "pytree_structure.json");
}

TEST(DecodeStructureFileTest, ListsThatDoNotFitAreAMismatch) {
  const auto with = [](const std::string& from, const std::string& to) {
    return DecodeStructureFile(Small(from, to), "m");
  };
  EXPECT_THAT(DecodeStructureFile(Small(), "m"), IsOk());
  EXPECT_THAT(DecodeStructureFile(Small(), "tx"),
              StatusIs(kMismatch, "prefix: expected 'tx', found 'm'"));
  EXPECT_THAT(with("[true, false]", "[true]"),
              StatusIs(kMismatch, "leaf_keys_full has 2 leaves, but arr_mask has 1"));
  EXPECT_THAT(with("[\"m/a\"]", "[]"),
              StatusIs(kMismatch, "array_keys has 1 arrays, but array_relpaths has 0"));
  EXPECT_THAT(with("[true, false]", "[false, false]"),
              StatusIs(kMismatch, "arr_mask names 0 arrays, but array_keys has 1"));
  EXPECT_THAT(with("\"array_keys\": [\"m.a\"]", "\"array_keys\": [\"m.c\"]"),
              StatusIs(kMismatch, "array_keys[0]: expected 'm.a', which leaf 0 is, found 'm.c'"));
  EXPECT_THAT(with("\"1\": \"gARLBy4=\"", ""),
              StatusIs(kMismatch, "nonarray_payload: leaf 1, 'm.b', is no array and has no value"));
  EXPECT_THAT(with("\"1\": ", "\"0\": "), StatusIs(kMismatch, HasSubstr("nonarray_payload.0")));
  EXPECT_THAT(with("\"1\": ", "\"2\": "), StatusIs(kMismatch, HasSubstr("nonarray_payload.2")));
}

TEST(DecodeStructureFileTest, BadFieldsAreNamed) {
  const auto with = [](const std::string& from, const std::string& to) {
    return DecodeStructureFile(Small(from, to), "m");
  };
  EXPECT_THAT(DecodeStructureFile("{", ""), StatusIs(kInvalid, HasSubstr("bad JSON")));
  EXPECT_THAT(with("\"prefix\": \"m\",", ""), StatusIs(kInvalid, "prefix: the field is missing"));
  EXPECT_THAT(with("[true, false]", "[true, 0]"),
              StatusIs(kInvalid, "arr_mask[1]: expected true or false, found number"));
  EXPECT_THAT(with("[\"m/a\"]", "[1]"),
              StatusIs(kInvalid, "array_relpaths[0]: expected a string, found number"));
  EXPECT_THAT(with("gARLBy4=", "gARLBy4"),
              StatusIs(kInvalid, HasSubstr("nonarray_payload.'1': expected Base64")));
  EXPECT_THAT(with("\"1\": ", "\"01\": "),
              StatusIs(kInvalid, "nonarray_payload.'01': expected the number of a leaf"));
  EXPECT_THAT(with("\"treedef_b64\": \"\"", "\"treedef_b64\": \"a b=\""),
              StatusIs(kInvalid, "treedef_b64: character 1 is none of Base64"));
  EXPECT_THAT(with("\"extras\": {}", "\"extras\": 1"), StatusIs(kInvalid, HasSubstr("extras")));
  EXPECT_THAT(with("\"extras\": {}", "\"ex\\u0074ras\": {}"),
              StatusIs(kInvalid, "extras: the name must be written without escapes"));
}

TEST(DecodeStructureFileTest, PathsThatLeadOutAreRefused) {
  for (const char* path :
       {"../a", "/etc/passwd", "m/../../a", "", "m//a", "m/.", "..\\\\a", "m/a\\u0000"}) {
    EXPECT_THAT(DecodeStructureFile(Small("m/a", path), "m"),
                StatusIs(kInvalid, HasSubstr("is no path inside the checkpoint")))
        << path;
  }
}

TEST(RebuildTreeTest, GivesBackWhatEformerSaved) {
  const auto file = *DecodeStructureFile(ReadFile("eformer_structure.json"), "model");
  TESSERA_ASSERT_OK_AND_ASSIGN(const RebuiltTree rebuilt, RebuildTree(file));
  EXPECT_EQ(rebuilt.without_treedef, std::nullopt);
  const SavedTree& tree = rebuilt.tree;
  EXPECT_EQ(
      *tree.Find("flags"),
      SavedTree::MakeDict({{"a", SavedTree::None()}, {"b", Plain(1.5)}, {"c", Plain("text")}}));
  EXPECT_EQ(*tree.Find("step"), Array(9));
}

TEST(RebuildTreeTest, FieldsGetTheirNamesFromTheKeys) {
  const auto file = *DecodeStructureFile(ReadFile("optimizer_structure.json"), "tx");
  TESSERA_ASSERT_OK_AND_ASSIGN(const RebuiltTree rebuilt, RebuildTree(file));
  EXPECT_EQ(rebuilt.without_treedef, std::nullopt);
  const auto moments = [](int64_t first) {
    return SavedTree::MakeDict(
        {{"dense", SavedTree::MakeDict({{"a.b", Array(first)}, {"kernel", Array(first + 1)}})},
         {"layers", SavedTree::List({Array(first + 2), SavedTree::None()})}});
  };
  const auto empty = SavedTree::MakeNamedTuple("sample_states:EmptyState", {});
  const SavedTree expected = SavedTree::Tuple(
      {SavedTree::MakeNamedTuple("sample_states:AdamState",
                                 {{"count", Array(0)}, {"mu", moments(1)}, {"nu", moments(4)}}),
       empty, *SavedTree::Record("sample_states:Pair", {{"0", empty}, {"right", Array(7)}}),
       SavedTree::MakeDict({{"fn", SavedTree(SavedLeaf(OpaqueLeaf{"pickled Python object"}))},
                            {"name", Plain("adam")},
                            {"on", Plain(true)},
                            {"rate", Plain(0.125)},
                            {"steps", Plain(int64_t{1} << 40)}})});
  EXPECT_EQ(rebuilt.tree, expected);
}

TEST(RebuildTreeTest, WithoutADefinitionTheKeysMakeDicts) {
  auto file = *DecodeStructureFile(ReadFile("optimizer_structure.json"), "tx");
  file.treedef_base64 = "gAROLg==";
  TESSERA_ASSERT_OK_AND_ASSIGN(const RebuiltTree rebuilt, RebuildTree(file));
  EXPECT_EQ(rebuilt.without_treedef, "expected a pickled PyTreeDef, found a None");
  const SavedTree& nu = *rebuilt.tree.Find("0")->Find("nu");
  EXPECT_EQ(*nu.Find("layers"), SavedTree::MakeDict({{"0", Array(6)}, {"1", SavedTree::None()}}));
  EXPECT_EQ(*nu.Find("dense")->Find("a"), SavedTree::MakeDict({{"b", Array(4)}}));
}

TEST(RebuildTreeTest, ADefinitionThatDoesNotFitTheKeysIsNotUsed) {
  auto file = *DecodeStructureFile(ReadFile("optimizer_structure.json"), "tx");
  file.leaf_keys[3] = "tx.0.mu.layers.7";
  EXPECT_EQ(RebuildTree(file)->without_treedef,
            "the leaf 'tx.0.mu.layers.7' stands at 0.1.layers.0 in the tree definition");
  file = *DecodeStructureFile(ReadFile("optimizer_structure.json"), "tx");
  file.leaf_keys[0] = "tx.0.mu";
  EXPECT_THAT(RebuildTree(file), StatusIs(kMismatch, HasSubstr("leaf_keys_full: ")));
  file = *DecodeStructureFile(ReadFile("optimizer_structure.json"), "tx");
  file.leaf_keys.push_back("tx.4");
  file.is_array.push_back(true);
  EXPECT_EQ(RebuildTree(file)->without_treedef,
            "the tree definition has 15 leaves, but the file lists 16");
}

TEST(RebuildTreeTest, ALeafAtTheRootIsTheTree) {
  TESSERA_ASSERT_OK_AND_ASSIGN(auto file,
                               MakePytreeStructure(Array(0), "m", std::vector<std::string>{"m"}));
  EXPECT_THAT(file.leaf_keys, ElementsAre("m"));
  EXPECT_EQ(RebuildTree(file)->tree, Array(0));
  file.treedef_base64.clear();
  const auto rebuilt = RebuildTree(file);
  EXPECT_EQ(rebuilt->tree, Array(0));
  EXPECT_EQ(rebuilt->without_treedef, "the file has no tree definition");
}

TEST(MakePytreeStructureTest, ListsEveryLeaf) {
  const SavedTree tree = SavedTree::MakeDict(
      {{"w", SavedTree::List({Array(0), Array(1)})}, {"lr", Plain(0.5)}, {"x", SavedTree::None()}});
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto file, MakePytreeStructure(tree, "m", std::vector<std::string>{"m/w/0", "m/w/1"}));
  EXPECT_THAT(file.leaf_keys, ElementsAre("m.lr", "m.w.0", "m.w.1", "m.x"));
  EXPECT_THAT(file.is_array, ElementsAre(false, true, true, false));
  EXPECT_THAT(file.array_keys, ElementsAre("m.w.0", "m.w.1"));
  EXPECT_THAT(file.array_paths, ElementsAre("m/w/0", "m/w/1"));
  EXPECT_EQ(file.values_base64.at(3), "gAROLg==");
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string text, EncodeStructureFile(file));
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto again, DecodeStructureFile(text, "m"));
  EXPECT_EQ(again, file);
  const auto rebuilt = RebuildTree(again);
  EXPECT_EQ(rebuilt->without_treedef, std::nullopt);
  EXPECT_EQ(rebuilt->tree, tree);
}

TEST(MakePytreeStructureTest, WhatPythonCouldNotReadIsRefused) {
  const std::vector<std::string> one{"w"};
  const auto made = [&](const SavedTree& tree) { return MakePytreeStructure(tree, "", one); };
  EXPECT_THAT(made(SavedTree::List({Array(1)})),
              StatusIs(kInvalid, "at 0: expected array 0 of 1, found array 1"));
  EXPECT_THAT(made(SavedTree::List({})),
              StatusIs(kInvalid, "the tree has 0 arrays, but 1 paths were given"));
  EXPECT_THAT(
      made(SavedTree::List({SavedTree(SavedLeaf(OpaqueLeaf{"dtype"}))})),
      StatusIs(kUnimplemented, "at 0: a value of type 'dtype' cannot be written for Python"));
  EXPECT_THAT(made(SavedTree::MakeNamedTuple("Point", {{"x", Array(0)}})),
              StatusIs(kUnimplemented, HasSubstr("the type 'Point' is not of the form")));
  EXPECT_THAT(made(SavedTree::MakeDict(
                  {{"a.b", Array(0)}, {"a", SavedTree::MakeDict({{"b", Plain(true)}})}})),
              StatusIs(kInvalid, HasSubstr("a.b")));
}

TEST(EncodeStructureFileTest, RefusesWhatIsNoJson) {
  PytreeStructure file;
  file.extras = "[]";
  EXPECT_THAT(EncodeStructureFile(file), StatusIs(kInvalid, "extras: expected a JSON object"));
  file.extras = "{";
  EXPECT_THAT(EncodeStructureFile(file), StatusIs(kInvalid, HasSubstr("extras: bad JSON")));
  file.extras = "{}";
  file.leaf_keys = {"\xff"};
  EXPECT_THAT(EncodeStructureFile(file), StatusIs(kInvalid, HasSubstr("leaf_keys_full: ")));
}

// A flipped bit in any byte is refused, or changes what is read into something that is sound.
TEST(DecodeStructureFileTest, ChangedFilesAreRefusedOrSound) {
  std::string text = ReadFile("optimizer_structure.json");
  for (size_t i = 0; i < text.size(); ++i) {
    const char before = text[i];
    text[i] = static_cast<char>(before ^ (1 << (i % 8)));
    const auto file = DecodeStructureFile(text, "tx");
    text[i] = before;
    if (!file.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(file.status()) ||
                  absl::IsFailedPrecondition(file.status()))
          << file.status();
      continue;
    }
    const auto rebuilt = RebuildTree(*file);
    EXPECT_TRUE(rebuilt.ok() || absl::IsFailedPrecondition(rebuilt.status())) << rebuilt.status();
  }
}

}  // namespace
}  // namespace tessera::ledger
