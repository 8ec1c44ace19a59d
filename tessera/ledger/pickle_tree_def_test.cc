#include "tessera/ledger/pickle_tree_def.h"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/pickle_base64.h"
#include "tessera/ledger/testing/tree_def_cases.h"
#include "tessera/tree/testing/random_tree.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;
using tree::LeafMark;
using tree::Structure;

const Structure kLeaf{LeafMark{}};

// A definition whose nodes are `nodes`, as JAX begins and ends one.
std::vector<std::byte> WithNodes(const std::string& nodes) {
  const std::string text =
      "\x80\x04\x8c\x12jaxlib._jax.pytree\x94\x8c\x09PyTreeDef\x94\x93\x94)\x81\x94\x8c\x12"
      "jax._src.tree_util\x94\x8c\x10"
      "default_registry\x94\x93\x94]\x94(" +
      nodes + "e\x86\x94" + "b.";
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string Node(int kind, int arity, const std::string& data, const std::string& type, int leaves,
                 int nodes) {
  const auto number = [](int n) { return "K" + std::string(1, static_cast<char>(n)); };
  return "(" + number(kind) + number(arity) + data + type + number(leaves) + number(nodes) + "t";
}

std::string LeafNode() { return Node(0, 0, "N", "N", 1, 1); }

absl::StatusOr<Structure> DecodedTree(const std::string& nodes) {
  return DecodeTreeDef(WithNodes(nodes));
}

TEST(DecodeTreeDefTest, ReadsWhatJaxWrote) {
  size_t count = 0;
  for (const testing::TreeDefCase& recorded : testing::RecordedTrees()) {
    EXPECT_THAT(DecodeTreeDef(recorded.pickle), IsOkAndHolds(recorded.expected))
        << EncodeBase64(recorded.pickle);
    ++count;
  }
  EXPECT_EQ(count, 151u);
}

TEST(DecodeTreeDefTest, RefusesWhatHoldsObjectsOfPython) {
  for (const auto& entry : testing::RecordedCases().at("refused")) {
    EXPECT_THAT(DecodeTreeDef(testing::FromBase64(entry[0])),
                StatusIs(kUnimplemented, HasSubstr(entry[1].get<std::string>())));
  }
}

TEST(DecodeTreeDefTest, ReadsTheNamesOfOlderVersions) {
  const std::string text =
      "\x80\x04\x8c\x1bjaxlib.xla_extension.pytree\x8c\x09PyTreeDef\x93)\x81\x8c\x12"
      "jax._src.tree_util\x8c\x10"
      "default_registry\x93](" +
      LeafNode() +
      "e\x86"
      "b.";
  EXPECT_THAT(DecodeTreeDef(std::as_bytes(std::span(text))), IsOkAndHolds(kLeaf));
}

TEST(DecodeTreeDefTest, APickleOfSomethingElseIsRefused) {
  EXPECT_THAT(DecodeTreeDef(*DecodeBase64("gAROLg==")),
              StatusIs(kUnimplemented, "expected a pickled PyTreeDef, found a None"));
}

TEST(DecodeTreeDefTest, NodesThatContradictThemselvesAreDataLoss) {
  EXPECT_THAT(DecodedTree(LeafNode()), IsOkAndHolds(kLeaf));
  EXPECT_THAT(DecodedTree(""),
              StatusIs(kDataLoss, "the tree definition has 0 roots, expected one"));
  EXPECT_THAT(DecodedTree(LeafNode() + LeafNode()),
              StatusIs(kDataLoss, "the tree definition has 2 roots, expected one"));
  EXPECT_THAT(DecodedTree(LeafNode() + Node(4, 2, "N", "N", 2, 3)),
              StatusIs(kDataLoss,
                       "node 1 of the tree definition: it has 2 children, but 1 nodes "
                       "stand before it"));
  EXPECT_THAT(DecodedTree(LeafNode() + Node(4, 1, "N", "N", 2, 2)),
              StatusIs(kDataLoss, HasSubstr("says that it has 2 leaves and 2 nodes, but there "
                                            "are 1 and 2")));
  EXPECT_THAT(DecodedTree(Node(4, 0, "K\x01", "N", 0, 1)),
              StatusIs(kDataLoss, HasSubstr("a node of kind 4 has data or a type")));
  EXPECT_THAT(DecodedTree("N"),
              StatusIs(kDataLoss, HasSubstr("expected a tuple of 6, found a None")));
  EXPECT_THAT(DecodedTree(Node(9, 0, "N", "N", 0, 1)),
              StatusIs(kUnimplemented, HasSubstr("nodes of kind 9 are not known")));
  EXPECT_THAT(DecodedTree(LeafNode() + Node(5, 1, "]", "N", 1, 2)),
              StatusIs(kDataLoss, HasSubstr("expected a list of 1 keys, found a list")));
}

TEST(DecodeTreeDefTest, KeysMustBeSortedAndDistinct) {
  const auto dict = [](const std::string& keys) {
    return DecodedTree(LeafNode() + LeafNode() + Node(5, 2, "](" + keys + "e", "N", 2, 3));
  };
  EXPECT_THAT(dict("\x8c\x01"
                   "a\x8c\x01"
                   "b"),
              IsOkAndHolds(Structure::MakeDict({{"a", kLeaf}, {"b", kLeaf}})));
  EXPECT_THAT(dict("\x8c\x01"
                   "b\x8c\x01"
                   "a"),
              StatusIs(kDataLoss, HasSubstr("its keys are not sorted")));
  EXPECT_THAT(dict("K\x01\x88"), StatusIs(kDataLoss, HasSubstr("node 2 of the tree definition")));
  EXPECT_THAT(dict("NN"), StatusIs(kUnimplemented, HasSubstr("a None as the key of a dict")));
}

// 40 tuples, each twice in the next one, would make a key of 2^40 elements.
TEST(DecodeTreeDefTest, KeysThatShareTheirPartsDoNotGrowWithoutBound) {
  const auto tuples = [](int depth) {
    std::string key = "K\x01";
    for (int i = 0; i < depth; ++i)
      key += "\x94h" + std::string(1, static_cast<char>(8 + i)) + "\x86";
    return LeafNode() + Node(5, 1, "](" + key + "e", "N", 1, 2);
  };
  EXPECT_THAT(DecodedTree(tuples(3)), IsOk());
  EXPECT_THAT(DecodedTree(tuples(30)),
              StatusIs(kUnimplemented, HasSubstr("take more than 67108864")));
  EXPECT_THAT(DecodedTree(tuples(40)),
              StatusIs(kUnimplemented, HasSubstr("nested deeper than 32")));
}

TEST(DecodeTreeDefTest, ATreeTooDeepIsDataLoss) {
  const auto chain = [](int depth) {
    std::string nodes = LeafNode();
    for (int i = 0; i < depth; ++i) {
      const int count = i + 2;
      nodes += std::string("(K\x04K\x01NNK\x01M") + static_cast<char>(count & 0xff) +
               static_cast<char>(count >> 8) + "t";
    }
    return nodes;
  };
  EXPECT_THAT(DecodedTree(chain(1000)), IsOk());
  EXPECT_THAT(DecodedTree(chain(1001)),
              StatusIs(kDataLoss, HasSubstr("nested deeper than 1000 containers")));
}

TEST(EncodeTreeDefTest, WhatIsWrittenIsReadBack) {
  for (const testing::TreeDefCase& recorded : testing::RecordedTrees()) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto pickle, EncodeTreeDef(recorded.expected));
    EXPECT_THAT(DecodeTreeDef(pickle), IsOkAndHolds(recorded.expected));
  }
}

TEST(EncodeTreeDefTest, RandomTreesAreReadBackOrRefused) {
  std::mt19937_64 random(7);
  int written = 0;
  for (int i = 0; i < 900; ++i) {
    const auto structure = *tree::StructureOf(tree::testing::RandomTree(random, 1 + i % 20, 5));
    const auto pickle = EncodeTreeDef(structure);
    if (!pickle.ok()) {
      EXPECT_THAT(pickle, StatusIs(kUnimplemented, HasSubstr("at ")));
      continue;
    }
    EXPECT_THAT(DecodeTreeDef(*pickle), IsOkAndHolds(structure));
    ++written;
  }
  EXPECT_GT(written, 50);
}

TEST(EncodeTreeDefTest, OnlyTypesThatPythonFindsAreNamed) {
  const auto named = [](std::string type) {
    return EncodeTreeDef(
        Structure::List({Structure::MakeNamedTuple(std::move(type), {{"x", kLeaf}})}));
  };
  EXPECT_THAT(named("optax._src.base:EmptyState"), IsOk());
  EXPECT_THAT(named("states:Outer.Inner"), IsOk());
  for (const char* type : {"Point", "a:", ":b", "a:b c", "a..b:c", "a:b:c", "a:f.<locals>.P"}) {
    EXPECT_THAT(named(type), StatusIs(kUnimplemented, HasSubstr("at 0: the type '"))) << type;
  }
}

TEST(EncodeTreeDefTest, WhatHoldsStaticDataIsRefused) {
  EXPECT_THAT(EncodeTreeDef(*Structure::Custom("a:B", "", {})),
              StatusIs(kUnimplemented, HasSubstr("holds static data")));
  EXPECT_THAT(EncodeTreeDef(*Structure::Record("a:B", {{"x", kLeaf}}, {{"rate", "0.1"}})),
              StatusIs(kUnimplemented, HasSubstr("holds static data")));
  EXPECT_THAT(EncodeTreeDef(*Structure::DefaultDict("eval", {})),
              StatusIs(kUnimplemented, HasSubstr("the factory 'eval' is no builtin type")));
}

// A refusal, or a definition that can be written and read again.
void ExpectSane(std::span<const std::byte> pickle) {
  const auto structure = DecodeTreeDef(pickle);
  if (structure.ok()) {
    const auto again = EncodeTreeDef(*structure);
    if (again.ok()) {
      EXPECT_THAT(DecodeTreeDef(*again), IsOkAndHolds(*structure));
    } else {
      EXPECT_THAT(again, StatusIs(kUnimplemented, HasSubstr("the type '")));
    }
    return;
  }
  EXPECT_TRUE(absl::IsDataLoss(structure.status()) || absl::IsUnimplemented(structure.status()))
      << structure.status();
}

TEST(DecodeTreeDefTest, EveryTruncationIsRefused) {
  const auto trees = testing::RecordedTrees();
  for (const size_t which : {5, 8, 20}) {
    const std::vector<std::byte>& pickle = trees[which].pickle;
    for (size_t size = 0; size < pickle.size(); ++size) {
      const std::vector<std::byte> cut(pickle.begin(),
                                       pickle.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_THAT(DecodeTreeDef(cut), StatusIs(kDataLoss, HasSubstr("pickle"))) << size;
    }
  }
}

TEST(DecodeTreeDefTest, EveryChangedByteIsRefusedOrGivesATree) {
  const auto trees = testing::RecordedTrees();
  for (const size_t which : {5, 8, 20}) {
    std::vector<std::byte> pickle = trees[which].pickle;
    for (std::byte& byte : pickle) {
      const std::byte before = byte;
      for (int value = 0; value < 256; ++value) {
        byte = static_cast<std::byte>(value);
        ExpectSane(pickle);
      }
      byte = before;
    }
  }
}

}  // namespace
}  // namespace tessera::ledger
