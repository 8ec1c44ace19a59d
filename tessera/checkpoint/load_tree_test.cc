#include "tessera/checkpoint/load_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Iota;
using ::tessera::array::testing::Mesh24;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::ValuesOf;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The example of the seed: {b: [4], a: {w: [8, 4]}} under the prefix model.
class LoadTreeTest : public ::testing::Test {
 protected:
  LoadTreeTest() {
    const auto store = *store::OpenFileStore(folder_.path());
    IoContext io({.in_flight = 2});
    for (const auto& [path, shape] :
         std::vector<std::pair<std::string, Dims>>{{"model/a/w", {8, 4}}, {"model/b", {4}}}) {
      const auto array =
          zarr::Array::Create(*store, path, zarr::JaxMetadata({shape, DType::kInt32}, shape));
      const auto values = Iota(*NumElements(shape));
      TESSERA_CHECK(
          array->Write(Box::Whole(shape), array::testing::ViewOf(values, shape), io).ok());
    }
    const std::string_view index =
        R"({"format":"tensorstore","version":"0.1.0","prefixes":{"model":[)"
        R"({"path":"model/a/w","shape":[8,4],"dtype":"int32"},)"
        R"({"path":"model/b","shape":[4],"dtype":"int32"}]}})";
    TESSERA_CHECK(store->Write(ledger::kIndexName, std::as_bytes(std::span(index))).ok());
  }
  std::string Folder() const { return folder_.path().string(); }
  static const array::ShardedArray& W(const array::ValueTree& tree) {
    return std::get<array::ShardedArray>(tree.Find("a")->Find("w")->leaf());
  }

  store::testing::TemporaryFolder folder_;
};

const std::vector<mesh::PartitionRule> kTreeRules{{"a/w$", {"dp", "tp"}}, {".*", {}}};

TEST_F(LoadTreeTest, DeserializesAsTheSeedDoes) {
  const auto mesh8 = *mesh::Mesh::MakeHost({{"x", 8}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const array::ValueTree whole,
                               TreeDeserializeLeaves(Folder(), mesh8, {.prefix = "model"}));
  EXPECT_EQ(W(whole).sharding(), mesh::Sharding(mesh::NamedSharding::Replicated(mesh8)));
  EXPECT_EQ(ValuesOf(W(whole).shards()[7]), Iota(32));
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const array::ValueTree split,
      TreeDeserializeLeaves(Folder(), Mesh24(),
                            {.prefix = "model", .partition_rules = kTreeRules}));
  EXPECT_EQ(W(split).sharding(), mesh::Sharding(On24({"dp", "tp"})));
  EXPECT_THAT(TreeDeserializeLeaves(Folder(), Mesh24(), {.prefix = "model"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a.w")));
  EXPECT_THAT(TreeDeserializeLeaves(Folder(), Mesh24(), {.prefix = "opt"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'model'")));
  EXPECT_THAT(TreeDeserializeLeaves(Folder() + "/missing"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

TEST_F(LoadTreeTest, CallsBackPerArray) {
  std::vector<std::string> names;
  TreeDeserializeOptions options{.prefix = "model", .chunk_size = 1};
  options.callback = [&](array::ShardedArray array,
                         std::string_view name) -> absl::StatusOr<array::Value> {
    names.emplace_back(name);
    return array::Value(std::move(array));
  };
  EXPECT_THAT(TreeDeserializeLeaves(Folder(), {}, options), IsOk());
  EXPECT_THAT(names, ElementsAre("a.w", "b"));
}

TEST_F(LoadTreeTest, TheFluentFormTakesPathsAndUrls) {
  const auto platform = array::testing::Host(8);
  IoContext io({.budget_bytes = 8 << 20});
  for (const std::string& location :
       {Folder(), Folder() + "/tensorstore_index.json", "file://" + Folder()}) {
    const auto loaded = Load(location)
                            .Prefix("model")
                            .Mesh(Mesh24())
                            .Rules(kTreeRules)
                            .Select("w$")
                            .Verify(false)
                            .On(*platform)
                            .With(io)
                            .Run();
    ASSERT_THAT(loaded, IsOk());
    EXPECT_EQ(loaded->report.arrays, 1);
    EXPECT_EQ(ValuesOf(W(loaded->tree).shards()[1]), (array::testing::Ints{1, 5, 9, 13}));
  }
}

TEST_F(LoadTreeTest, DevicesOfSeveralProcessesNeedAPlatform) {
  EXPECT_THAT(Load(Folder()).Prefix("model").Mesh(array::testing::Mesh24OverRanks(2)).Run(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("several processes")));
}

TEST_F(LoadTreeTest, ShardingTreesComeFromTheFolder) {
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ShardingTree tree,
      CreateShardingTreeFromIndex(Folder(), {.mesh = Mesh24(), .prefix = "model"}));
  EXPECT_EQ(tree.Find("b")->leaf(), ChosenSharding(On24({})));
  const store::testing::TemporaryFolder empty;
  EXPECT_THAT(CreateShardingTreeFromIndex(empty.path().string()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no index")));
  const tessera::testing::LogCapture log;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ShardingTree none,
                               CreateShardingTreeFromIndex(empty.path().string(), {}, true));
  EXPECT_EQ(none, ShardingTree::MakeDict({}));
}

}  // namespace
}  // namespace tessera::checkpoint
