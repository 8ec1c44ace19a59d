#include "tessera/steps/manager.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/array/to_host.h"
#include "tessera/checkpoint/content_hash.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/comm/threads.h"
#include "tessera/core/sha256.h"
#include "tessera/core/testing/log_capture.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/structure_file.h"
#include "tessera/steps/content_hash.h"
#include "tessera/steps/pytree_file.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tessera/tree/structure.h"

namespace tessera::steps {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::Ints;
using ::tessera::array::testing::Iota;
using ::tessera::array::testing::On24;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::array::testing::ShardedIota;
using ::tessera::array::testing::SpecOf;
using ::tessera::array::testing::ValuesOf;
using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tree = array::ValueTree;

StorePtr EmptyStore() { return store::MakeMemoryStore(); }

std::string Text(store::KvStore& store, std::string_view key) {
  const auto read = store.Read(key);
  return read.ok() && read->value.has_value() ? std::string(read->value->text()) : "none";
}

TreeSaveOptions WithPrefix(std::string prefix) {
  return {.save = {.plan = {.prefix = std::move(prefix)}}};
}

PytreeLoadOptions OfPrefix(std::string prefix) {
  PytreeLoadOptions options;
  options.prefix = std::move(prefix);
  return options;
}

// The ints of a leaf, wherever it is.
Ints IntsOf(const Tree& leaf) {
  if (const auto* host = std::get_if<array::HostArray>(&leaf.leaf())) return ValuesOf(*host);
  const auto& sharded = std::get<array::ShardedArray>(leaf.leaf());
  if (const auto view = sharded.ToHostView()) return ValuesOf(*view);
  const auto platform = HostPlatformOf(leaf);
  return ValuesOf(*array::ToHost(sharded, **platform));
}

std::string HashOfInts(const Ints& values) { return Sha256Text(std::as_bytes(std::span(values))); }

WallClock ClockAt(int64_t seconds) {
  return [=] { return std::chrono::system_clock::time_point(std::chrono::seconds(seconds)); };
}

Tree State() {
  return Tree::MakeDict(
      {{"w", HostIota({6, 4})},
       {"opt", Tree::Tuple({HostIota({3}), array::MakeScalar(int64_t{7}), Tree::None(),
                            array::MakeScalar(std::string("x"))})}});
}

TEST(CheckpointManagerTest, SavesATreeWithItsMetadata) {
  const StorePtr store = EmptyStore();
  CheckpointManager manager({.clock = ClockAt(0)});
  TreeSaveOptions options = WithPrefix("model");
  options.metadata = R"({"step": 3})";
  std::string told;
  options.callback = [&](std::string_view path) {
    told = path;
    return absl::OkStatus();
  };
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto future, manager.SaveTree(State(), store, options));
  ASSERT_THAT(future.Wait(), IsOk());
  EXPECT_EQ(told, store->Describe(""));
  const std::string text = Text(*store, "checkpoint_metadata.json");
  EXPECT_THAT(text, HasSubstr(R"("timestamp": "1970-01-01T00:00:00+00:00", "checksum": {}, )"
                              R"("array_metadata": {}, "framework_version": null, )"
                              R"("custom_metadata": {"step": 3}})"));
  EXPECT_EQ(Text(*store, "model_metadata.json"), text);
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, manager.Load(store, {.prefix = "model"}));
  EXPECT_EQ(loaded.metadata->custom_metadata, R"({"step": 3})");
  EXPECT_TRUE(tree::SameStructure(loaded.tree, State()));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("w")), Iota(24));
}

TEST(CheckpointManagerTest, FloatsKeepTheirDtypeUnlessAsked) {
  const std::vector<float> floats = {1.0F, 2.5F};
  const Tree tree = Tree::MakeDict(
      {{"w", *array::HostArray::CopyOf({{2}, DType::kFloat32}, std::as_bytes(std::span(floats)))}});
  CheckpointManager manager;
  for (const auto& [asked, stored] :
       {std::pair(std::optional<DType>(), DType::kFloat32),
        std::pair(std::optional(DType::kBfloat16), DType::kBfloat16)}) {
    const StorePtr store = EmptyStore();
    TreeSaveOptions options = WithPrefix("m");
    options.save.plan.float_dtype = asked;
    options.validate = true;
    ASSERT_THAT(manager.SaveTree(tree, store, options), IsOk());
    ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
    TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded,
                                 manager.Load(store, {.prefix = "m", .validate = true}));
    EXPECT_EQ(array::DescribeLeaf(loaded.tree.Find("w")->leaf()).array->dtype, stored);
    EXPECT_EQ(loaded.metadata->array_metadata.at("w").dtype, DTypeName(stored));
  }
}

TEST(CheckpointManagerTest, ChecksumsAreOfTheElementsAndAreCompared) {
  const StorePtr store = EmptyStore();
  const auto platform = Host(8);
  CheckpointManager manager({.platform = platform.get()});
  const Tree tree = Tree::MakeDict({{"w", ShardedIota({8, 12}, On24({"dp", "tp"}), *platform)}});
  TreeSaveOptions options = WithPrefix("model");
  options.validate = true;
  options.save.plan.codec = checkpoint::CodecList{};
  ASSERT_THAT(manager.SaveTree(tree, store, options), IsOk());
  ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
  TreeLoadOptions load{.prefix = "model", .validate = true};
  load.load.read.verify = false;
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, manager.Load(store, load));
  EXPECT_EQ(loaded.metadata->checksum.at("w"), HashOfInts(Iota(96)));
  EXPECT_EQ(loaded.metadata->array_metadata.at("w"), (ledger::SavedArrayType{"int32", {8, 12}}));

  std::string chunk = Text(*store, "model/w/1.2");
  chunk[0] = static_cast<char>(chunk[0] ^ 1);
  ASSERT_THAT(store->Write("model/w/1.2", std::as_bytes(std::span(chunk))), IsOk());
  EXPECT_THAT(manager.Load(store, load),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("w: expected the SHA-256 " + HashOfInts(Iota(96)))));
}

TEST(CheckpointManagerTest, EveryPrefixKeepsItsChecksums) {
  const StorePtr store = EmptyStore();
  CheckpointManager manager;
  TreeSaveOptions model = WithPrefix("model"), tx = WithPrefix("tx");
  model.validate = true;
  ASSERT_THAT(manager.SaveTree(Tree::MakeDict({{"w", HostIota({4})}}), store, model), IsOk());
  ASSERT_THAT(manager.SaveTree(Tree::MakeDict({{"w", HostIota({5})}}), store, tx), IsOk());
  ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
  EXPECT_THAT(manager.Load(store, {.prefix = "model", .validate = true}), IsOk());
  EXPECT_THAT(
      manager.Load(store, {.prefix = "tx", .validate = true}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("there is no checksum of w: ")));
  IoContext io;
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto report, checkpoint::VerifyCheckpoint(*store, io));
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST(CheckpointManagerTest, ValidationNeedsMetadata) {
  checkpoint::testing::StoredCheckpoint stored("model");
  stored.Add("w", {4}, {2}).Index();
  const StorePtr store(&stored.store(), [](store::KvStore*) {});
  CheckpointManager manager;
  EXPECT_THAT(manager.Load(store, {.prefix = "model"}), IsOk());
  EXPECT_THAT(manager.Load(store, {.prefix = "model", .validate = true}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no such file")));
}

TEST(CheckpointManagerTest, GatherFunctionsAreAppliedBeforeTheSave) {
  const auto platform = Host(8);
  const Tree tree = Tree::MakeDict({{"w", ShardedIota({8, 12}, On24({"dp", "tp"}), *platform)}});
  const StorePtr store = EmptyStore();
  CheckpointManager manager({.platform = platform.get()});
  TreeSaveOptions options = WithPrefix("model");
  options.gather = true;
  ASSERT_THAT(manager.SaveTree(tree, store, options), IsOk());
  ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
  // One chunk, as the array was whole; without it there are eight.
  EXPECT_EQ(store->List("model/w/")->size(), 2u);
  EXPECT_EQ(IntsOf(*manager.Load(store, {.prefix = "model"})->tree.Find("w")), Iota(96));
}

TEST(CheckpointManagerTest, BadMetadataIsRefusedBeforeAnythingIsWritten) {
  const StorePtr store = EmptyStore();
  CheckpointManager manager;
  TreeSaveOptions options = WithPrefix("model");
  options.metadata = "{";
  EXPECT_THAT(manager.SaveTree(State(), store, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("custom_metadata")));
  EXPECT_THAT(*store->List(""), IsEmpty());
}

TEST(CheckpointManagerTest, APytreeComesBackAsItWas) {
  const StorePtr store = EmptyStore();
  CheckpointManager manager;
  TreeSaveOptions options = WithPrefix("tx");
  options.metadata = R"({"step": 9})";
  ASSERT_THAT(manager.SavePytree(State(), store, options), IsOk());
  ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto file, ledger::DecodeStructureFile(Text(*store, "tx_structure.json"), "tx"));
  EXPECT_THAT(file.array_paths, ElementsAre("tx/opt/0", "tx/w"));
  EXPECT_EQ(file.extras, "{\n    \"step\": 9\n  }");
  const PytreeLoadOptions load = OfPrefix("tx");
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, manager.LoadPytree(store, load));
  ASSERT_TRUE(tree::SameStructure(loaded.tree, State()));
  const Tree& opt = *loaded.tree.Find("opt");
  EXPECT_EQ(IntsOf(opt.children()[0]), Iota(3));
  EXPECT_EQ(*std::get<array::Opaque>(opt.children()[1].leaf()).scalar, tree::Scalar(int64_t{7}));
  EXPECT_EQ(*std::get<array::Opaque>(opt.children()[3].leaf()).scalar,
            tree::Scalar(std::string("x")));
  IoContext io;
  EXPECT_THAT(checkpoint::VerifyCheckpoint(*store, io)->problems, IsEmpty());
}

TEST(CheckpointManagerTest, AnotherWritersStructureFileIsEnough) {
  checkpoint::testing::StoredCheckpoint stored("tx");
  stored.Add("opt/0", {3}, {3}).Add("w", {6, 4}, {3, 4}).Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto file, MakeStructureFile(State(), {.prefix = "tx"}, "{}"));
  checkpoint::testing::WriteText(stored.store(), file.name, file.content.text());
  const StorePtr store(&stored.store(), [](store::KvStore*) {});
  CheckpointManager manager;
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, manager.LoadPytree(store, OfPrefix("tx")));
  ASSERT_TRUE(tree::SameStructure(loaded.tree, State()));
  EXPECT_EQ(IntsOf(loaded.tree.Find("opt")->children()[0]), Iota(3));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("w")), Iota(24));

  ASSERT_THAT(store->Delete(file.name), IsOk());
  EXPECT_THAT(manager.LoadPytree(store, OfPrefix("tx")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("tx_structure.json: no such file")));
}

TEST(CheckpointManagerTest, ArraysOfTheFileThatAreNotStoredAreNamed) {
  checkpoint::testing::StoredCheckpoint stored("tx");
  stored.Add("w", {6, 4}, {3, 4}).Index();
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto file, MakeStructureFile(State(), {.prefix = "tx"}, "{}"));
  checkpoint::testing::WriteText(stored.store(), file.name, file.content.text());
  const StorePtr store(&stored.store(), [](store::KvStore*) {});
  EXPECT_THAT(CheckpointManager().LoadPytree(store, OfPrefix("tx")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not in the checkpoint: tx/opt/0")));
}

TEST(CheckpointManagerTest, AValueThatCannotBeKeptIsRefusedInAPytree) {
  array::Opaque object;
  object.type_name = "Generator";
  const Tree tree = Tree::MakeDict({{"a", HostIota({2})}, {"rng", array::Value(object)}});
  const StorePtr store = EmptyStore();
  EXPECT_THAT(CheckpointManager().SavePytree(tree, store, WithPrefix("m")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("leaves whose value cannot be kept: rng (Generator)")));
  EXPECT_THAT(*store->List(""), IsEmpty());
}

class LikeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Tree tree = Tree::MakeDict({{"lead", HostIota({2, 8, 4})},
                                      {"flat", HostIota({24})},
                                      {"same", HostIota({5})},
                                      {"other", HostIota({7})},
                                      {"n", array::MakeScalar(int64_t{3})}});
    ASSERT_THAT(manager_.SavePytree(tree, store_, WithPrefix("m")), IsOk());
    ASSERT_THAT(manager_.WaitUntilFinished(), IsOk());
  }
  absl::StatusOr<LoadedTree> LoadLike(const Tree& like, bool strict) {
    PytreeLoadOptions options;
    options.prefix = "m";
    options.like = like;
    options.strict = strict;
    return manager_.LoadPytree(store_, options);
  }

  std::unique_ptr<device::Platform> platform_ = Host(8);
  StorePtr store_ = EmptyStore();
  CheckpointManager manager_{{.platform = platform_.get()}};
};

TEST_F(LikeTest, StrictNamesEveryMisfit) {
  const Tree like = Tree::MakeDict(
      {{"flat", HostIota({6, 4})}, {"gone", HostIota({2})}, {"same", HostIota({5})}});
  EXPECT_THAT(LoadLike(like, true), StatusIs(absl::StatusCode::kFailedPrecondition,
                                             AllOf(HasSubstr("flat"), HasSubstr("gone"))));
}

TEST_F(LikeTest, StrictFillsATemplateThatFits) {
  const Tree like = Tree::MakeDict(
      {{"same", HostIota({5})}, {"n", array::MakeScalar(int64_t{0})}, {"none", Tree::None()}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, LoadLike(like, true));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("same")), Iota(5));
  EXPECT_TRUE(loaded.tree.Find("none")->is_none());
  EXPECT_EQ(*std::get<array::Opaque>(loaded.tree.Find("n")->leaf()).scalar,
            tree::Scalar(int64_t{3}));
  EXPECT_THAT(loaded.changes, IsEmpty());
}

TEST_F(LikeTest, NonStrictFitsWhatItCanAndTellsOfIt) {
  const std::vector<float> floats(5, 1.0F);
  const Tree like =
      Tree::MakeDict({{"lead", ShardedIota({8, 4}, On24({"dp", "tp"}), *platform_)},
                      {"flat", HostIota({4, 6})},
                      {"same", *array::HostArray::CopyOf({{5}, DType::kFloat32},
                                                         std::as_bytes(std::span(floats)))},
                      {"other", HostIota({2})},
                      {"gone", HostIota({3})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const LoadedTree loaded, LoadLike(like, false));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("lead")), Iota(32));
  EXPECT_EQ(SpecOf(std::get<array::ShardedArray>(loaded.tree.Find("lead")->leaf())),
            (mesh::PartitionSpec{"dp", "tp"}));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("flat")), Iota(24));
  EXPECT_EQ(array::DescribeLeaf(loaded.tree.Find("flat")->leaf()).array->shape, (Dims{4, 6}));
  EXPECT_EQ(array::DescribeLeaf(loaded.tree.Find("same")->leaf()).array->dtype, DType::kFloat32);
  EXPECT_EQ(IntsOf(*loaded.tree.Find("other")), Iota(2));
  EXPECT_EQ(IntsOf(*loaded.tree.Find("gone")), Iota(3));
  EXPECT_THAT(
      loaded.changes,
      ElementsAre(
          FitChange{"flat", Fit::kReshaped, "stored as int32[24], wanted int32[4,6]"},
          FitChange{"gone", Fit::kTemplateValue, "not stored"},
          FitChange{"lead", Fit::kFirstOfLeading, "stored as int32[2,8,4], wanted int32[8,4]"},
          FitChange{"other", Fit::kTemplateValue, "stored as int32[7], wanted int32[2]"},
          FitChange{"same", Fit::kCast, "stored as int32[5], wanted float32[5]"}));
}

TEST_F(LikeTest, APytreeIsLoadedWhole) {
  PytreeLoadOptions options;
  options.request.select = "w";
  EXPECT_THAT(manager_.LoadPytree(store_, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is loaded whole")));
}

TEST(CheckpointManagerTest, PathsOfFoldersAndOfTheirIndex) {
  const store::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "run").string();
  EXPECT_THAT(CheckpointManager::IsTensorstore(path), IsOkAndHolds(false));
  CheckpointManager manager;
  std::string told;
  TreeSaveOptions options = WithPrefix("model");
  options.callback = [&](std::string_view where) {
    told = where;
    return absl::OkStatus();
  };
  ASSERT_THAT(manager.SaveTree(State(), path, options), IsOk());
  ASSERT_THAT(manager.WaitUntilFinished(), IsOk());
  EXPECT_EQ(told, path);
  EXPECT_THAT(CheckpointManager::IsTensorstore(path), IsOkAndHolds(true));
  EXPECT_THAT(CheckpointManager::IsTensorstore(path + "/tensorstore_index.json"),
              IsOkAndHolds(true));
  EXPECT_THAT(CheckpointManager::SafeLoadPath(path + "/tensorstore_index.json"),
              IsOkAndHolds(path));
  EXPECT_THAT(manager.Load(path + "/tensorstore_index.json", {.prefix = "model"}), IsOk());
  ASSERT_TRUE(std::filesystem::remove(path + "/tensorstore_index.json"));
  EXPECT_THAT(CheckpointManager::IsTensorstore(path), IsOkAndHolds(true));
  EXPECT_THAT(CheckpointManager::IsTensorstore("gs://bucket/x"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("gs")));
}

TEST(CheckpointManagerTest, RanksHashWhatIsSpreadOverThem) {
  const StorePtr store = EmptyStore();
  const absl::Status status = comm::RunRanks(3, [&](comm::Comm& comm) -> absl::Status {
    const auto platform = PlatformOfRank(3, comm.rank());
    const Tree tree =
        Tree::MakeDict({{"a", ShardedIota({8, 12}, On24OverRanks(3, {"dp", "tp"}), *platform)},
                        {"b", ShardedIota({4, 4}, On24OverRanks(3, {"tp"}), *platform)},
                        {"c", HostIota({9})}});
    CheckpointManager manager({.platform = platform.get(), .comm = &comm});
    TreeSaveOptions options = WithPrefix("model");
    options.validate = true;
    TESSERA_RETURN_IF_ERROR(manager.SavePytree(tree, store, options));
    TESSERA_RETURN_IF_ERROR(manager.WaitUntilFinished());
    PytreeLoadOptions load = OfPrefix("model");
    load.validate = true;
    load.like = tree;
    return manager.LoadPytree(store, load).status();
  });
  ASSERT_THAT(status, IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const LoadedTree loaded,
      CheckpointManager().Load(store, {.prefix = "model", .validate = true}));
  EXPECT_EQ(loaded.metadata->checksum.at("a"), HashOfInts(Iota(96)));
  EXPECT_EQ(loaded.metadata->checksum.at("b"), HashOfInts(Iota(16)));
  EXPECT_EQ(loaded.metadata->checksum.at("c"), HashOfInts(Iota(9)));
}

TEST(CheckpointManagerTest, AnErrorOfRankZerosFilesIsEverybodys) {
  const StorePtr store = EmptyStore();
  const absl::Status status = comm::RunRanks(3, [&](comm::Comm& comm) -> absl::Status {
    CheckpointManager manager({.comm = &comm});
    TreeSaveOptions options = WithPrefix("model");
    if (comm.rank() == 0) options.metadata = "[";
    EXPECT_THAT(manager.SaveTree(State(), store, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("custom_metadata")));
    return absl::OkStatus();
  });
  EXPECT_THAT(status, IsOk());
}

TEST(ContentHashTest, IsOfTheElementsInCOrder) {
  EXPECT_THAT(ContentHash(HostIota({3, 4})), IsOkAndHolds(HashOfInts(Iota(12))));
  EXPECT_THAT(ContentHash(HostIota({})), IsOkAndHolds(HashOfInts(Iota(1))));
  EXPECT_THAT(ContentHash(HostIota({0, 4})), IsOkAndHolds(HashOfInts({})));
  const array::HostArray whole = HostIota({2, 3});
  ConstStridedView transposed = whole.view();
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  EXPECT_THAT(ContentHash(*array::HostArray::Borrow(transposed, DType::kInt32, whole.owner())),
              IsOkAndHolds(HashOfInts({0, 3, 1, 4, 2, 5})));
}

TEST(ContentHashTest, StoredArraysAreReadInPieces) {
  checkpoint::testing::StoredCheckpoint stored;
  stored.Add("a", {50, 30}, {7, 11}).Add("s", {}, {}).Add("e", {0, 3}, {1, 3}).Index();
  for (const int64_t budget : {int64_t{16} << 10, int64_t{1} << 20}) {
    IoContext io({.in_flight = 2, .budget_bytes = budget});
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto checkpoint,
                                 checkpoint::Checkpoint::Open(stored.store(), io));
    const auto arrays = checkpoint.arrays();
    EXPECT_THAT(checkpoint::HashContent(checkpoint, arrays[0], io),
                IsOkAndHolds(HashOfInts(Iota(1500))));
    EXPECT_THAT(checkpoint::HashContent(checkpoint, arrays[1], io),
                IsOkAndHolds(HashOfInts(Iota(1))));
    EXPECT_THAT(checkpoint::HashContent(checkpoint, arrays[2], io), IsOkAndHolds(HashOfInts({})));
  }
}

TEST(ContentHashTest, OneKeyForTwoArraysIsRefused) {
  const Tree tree =
      Tree::MakeDict({{"a.b", HostIota({2})}, {"a", Tree::MakeDict({{"b", HostIota({2})}})}});
  TreeSaveOptions options = WithPrefix("m");
  options.validate = true;
  EXPECT_THAT(CheckpointManager().SaveTree(tree, EmptyStore(), options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the dotted key a.b")));
}

}  // namespace
}  // namespace tessera::steps
