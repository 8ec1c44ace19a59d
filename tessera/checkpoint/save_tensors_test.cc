// Saves as safetensors: the files are those that the tensors make, whoever has written which part.
#include "tessera/checkpoint/save_tensors.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/plan_save_tensors.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/comm/threads.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/safetensors/pack_bits.h"
#include "tessera/safetensors/unfolded_store.h"
#include "tessera/store/file_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/fault_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::Host;
using ::tessera::array::testing::HostIota;
using ::tessera::array::testing::On24OverRanks;
using ::tessera::array::testing::PlatformOfRank;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Elements = std::vector<std::byte>;
using Files = std::map<std::string, std::string>;
using StorePtr = std::shared_ptr<store::KvStore>;
using Tree = array::ValueTree;
using mesh::PartitionSpec;

StorePtr EmptyStore() { return store::MakeMemoryStore(); }

// Takes values as a whole only.
StorePtr WholeValues() { return store::MakeMemoryStore({.writes_parts = false}); }

// A tensor as the test has it: one spec for all ranks, or none for host memory.
struct Case {
  std::string key;
  Dims shape;
  DType dtype = DType::kInt32;
  std::optional<PartitionSpec> spec = {};
};

// Elements that differ from one another and between cases, each valid for its dtype.
Elements ElementsOf(const Case& c) {
  Elements elements(static_cast<size_t>(*NumBytes(c.dtype, c.shape)));
  const int bits = InfoOf(c.dtype).bits;
  const unsigned mask = c.dtype == DType::kBool ? 1 : bits < 8 ? (1U << bits) - 1 : 0xff;
  uint32_t state = static_cast<uint32_t>(c.key.size() + 7 * elements.size() + 1);
  for (std::byte& byte : elements) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>((state >> 24) & mask);
  }
  return elements;
}

array::Value ValueOf(const Case& c, int ranks, device::Platform& platform) {
  const Elements elements = ElementsOf(c);
  if (!c.spec.has_value()) return *array::HostArray::CopyOf({c.shape, c.dtype}, elements);
  const auto view = RowMajorView(elements.data(), c.shape, DTypeBytes(c.dtype));
  return *array::ShardedArray::FromHost(view, c.dtype, On24OverRanks(ranks, *c.spec), platform);
}

Tree TreeOf(const std::vector<Case>& cases, int ranks, device::Platform& platform) {
  std::vector<std::pair<tree::DictKey, Tree>> items;
  for (const Case& c : cases) items.emplace_back(c.key, ValueOf(c, ranks, platform));
  return *Tree::Dict(std::move(items));
}

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string StoredText(const Case& c) {
  const Elements elements = ElementsOf(c);
  const int bits = InfoOf(c.dtype).bits;
  if (bits >= 8) return TextOf(elements);
  Elements packed(*safetensors::StoredBytes(c.dtype, c.shape));
  safetensors::PackBits(elements, bits, packed);
  return TextOf(packed);
}

// What the tensors make, one after the other; a dict has them by key.
Files ExpectedFiles(std::vector<Case> cases, const SafetensorsFormat& format) {
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.key < b.key; });
  std::vector<safetensors::NewTensor> tensors;
  std::map<std::string, std::string> stored;
  for (const Case& c : cases) {
    tensors.push_back({c.key, {c.shape, c.dtype}});
    stored[c.key] = StoredText(c);
  }
  const safetensors::SetPlan plan = safetensors::PlanSet(tensors, format).value();
  Files files;
  for (const safetensors::PlannedFile& file : plan.files) {
    std::string& text = files[file.name];
    text = file.header_bytes;
    for (const safetensors::Tensor& tensor : file.header.tensors) text += stored[tensor.name];
  }
  if (plan.index_text.has_value()) files[plan.name] = *plan.index_text;
  return files;
}

// What lies beside our own folder.
Files FilesIn(store::KvStore& store) {
  Files files;
  const auto entries = store.List("").value();
  for (const store::ListEntry& entry : entries) {
    if (!entry.key.starts_with(commit::kOwnFolder)) {
      files[entry.key] = std::string(store.Read(entry.key)->value->text());
    }
  }
  return files;
}

std::vector<std::string> OwnKeys(store::KvStore& store) {
  std::vector<std::string> keys;
  const auto entries = store.List(commit::kOwnFolder).value();
  for (const store::ListEntry& entry : entries) keys.push_back(entry.key);
  return keys;
}

// The manifest of a set tells the truth of all that is stored.
void ExpectVouched(store::KvStore& store, const std::string& name, size_t tensors) {
  IoContext io({.in_flight = 2});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto manifest, ReadManifest(store, SealKey(name)));
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->prefix, name);
  EXPECT_EQ(manifest->arrays.size(), tensors);
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto set, safetensors::FileSet::Open(store, name, io));
  const auto unfolded = safetensors::MakeUnfoldedStore(store, set);
  std::vector<ledger::StoredRecord> records = manifest->files;
  for (const ledger::ArrayManifest& array : manifest->arrays) {
    const std::string path = array.path + "/";
    EXPECT_EQ(unfolded->Read(path + array.metadata_name)->value->text(), array.metadata);
    EXPECT_EQ(unfolded->List(path)->size(), array.chunks.size() + 1);
    for (const auto& chunk : array.chunks) {
      records.push_back({path + chunk.name, chunk.size, chunk.hash});
    }
  }
  for (const ledger::StoredRecord& record : records) {
    const auto read = unfolded->Read(record.name);
    ASSERT_THAT(read, IsOk());
    ASSERT_TRUE(read->value.has_value()) << record.name;
    EXPECT_EQ(read->value->size(), record.size) << record.name;
    EXPECT_EQ(HashOf(read->value->span()), record.hash) << record.name;
  }
}

SaveOptions OptionsOf(SafetensorsFormat format) { return {.plan = {.format = std::move(format)}}; }

// With that many ranks, which all write to `store`.
absl::Status SaveOverRanks(int ranks, const std::vector<Case>& cases, const SaveOptions& options,
                           const StorePtr& store) {
  return comm::RunRanks(ranks, [&](comm::Comm& comm) -> absl::Status {
    const auto platform = PlatformOfRank(ranks, comm.rank());
    IoContext io({.in_flight = 2});
    Saver saver({.io = &io, .platform = platform.get(), .comm = &comm});
    TESSERA_RETURN_IF_ERROR(saver.Start(store, TreeOf(cases, ranks, *platform), options));
    return saver.WaitUntilFinished();
  });
}

void ExpectSaved(int ranks, const std::vector<Case>& cases, const SafetensorsFormat& format,
                 const StorePtr& store) {
  ASSERT_THAT(SaveOverRanks(ranks, cases, OptionsOf(format), store), IsOk());
  const Files expected = ExpectedFiles(cases, format);
  const Files found = FilesIn(*store);
  for (const auto& [name, text] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    // Not EXPECT_EQ: the texts are megabytes.
    EXPECT_TRUE(found.at(name) == text) << name;
  }
  EXPECT_EQ(found.size(), expected.size());
  const std::string name =
      format.stem + (format.shard_bytes.has_value() ? ".safetensors.index.json" : ".safetensors");
  ExpectVouched(*store, name, cases.size());
  EXPECT_THAT(OwnKeys(*store), ElementsAre(SealKey(name)));
}

std::vector<Case> EveryDType() {
  std::vector<Case> cases = {{"scalar", {}, DType::kFloat32}, {"empty", {0, 5}, DType::kInt16}};
  for (const DTypeInfo& info : AllDTypes()) {
    if (info.safetensors.empty()) continue;
    cases.push_back({Concat("host.", info.name), {3, 8}, info.dtype});
    cases.push_back({Concat("rows.", info.name), {8, 4}, info.dtype, PartitionSpec{"tp"}});
    cases.push_back({Concat("columns.", info.name), {3, 16}, info.dtype, PartitionSpec{{}, "tp"}});
    cases.push_back({Concat("both.", info.name), {4, 16}, info.dtype, PartitionSpec{"dp", "tp"}});
    cases.push_back({Concat("all.", info.name), {5, 8}, info.dtype, PartitionSpec{}});
  }
  return cases;
}

// Of several blocks, which end where no shard does.
std::vector<Case> LargeOnes() {
  return {{"wide.columns", {1500, 1024}, DType::kInt32, PartitionSpec{{}, "tp"}},
          {"wide.rows", {1500, 1024}, DType::kInt32, PartitionSpec{"dp"}},
          {"wide.both", {1500, 1024}, DType::kBfloat16, PartitionSpec{"dp", "tp"}},
          {"wide.all", {3000, 1024}, DType::kInt32, PartitionSpec{}},
          {"deep", {4, 300, 2048}, DType::kFloat32, PartitionSpec{"tp", "dp"}},
          {"deep.inner", {3, 4, 700, 1024}, DType::kInt8, PartitionSpec{{}, "tp", "dp"}},
          {"small", {7}, DType::kInt64}};
}

struct Form {
  std::string name;
  int ranks = 1;
  bool files = false;
};

class SaveTensorsRanksTest : public ::testing::TestWithParam<Form> {
 protected:
  StorePtr Make() {
    if (!GetParam().files) return EmptyStore();
    folder_ = std::make_unique<store::testing::TemporaryFolder>();
    return *store::OpenFileStore(folder_->path().string(),
                                 {.durability = store::Durability::kKernel});
  }
  const int ranks_ = GetParam().ranks;

 private:
  std::unique_ptr<store::testing::TemporaryFolder> folder_;
};

INSTANTIATE_TEST_SUITE_P(
    All, SaveTensorsRanksTest,
    ::testing::Values(Form{"OneInMemory", 1, false}, Form{"OneInFiles", 1, true},
                      Form{"TwoInMemory", 2, false}, Form{"TwoInFiles", 2, true},
                      Form{"FourInMemory", 4, false}, Form{"FourInFiles", 4, true}),
    [](const auto& info) { return info.param.name; });

TEST_P(SaveTensorsRanksTest, EveryDTypeIsStoredAsTheTensorsSay) {
  ExpectSaved(ranks_, EveryDType(), {}, Make());
}

TEST_P(SaveTensorsRanksTest, ShardsAndTheirIndexAreWritten) {
  ExpectSaved(ranks_, EveryDType(), {.stem = "x", .shard_bytes = 200}, Make());
}

TEST_P(SaveTensorsRanksTest, BlocksThatRanksShareAreHashedAsAWhole) {
  ExpectSaved(ranks_, LargeOnes(), {.shard_bytes = 10'000'000}, Make());
}

TEST_P(SaveTensorsRanksTest, MetadataAndParentsAreUpToTheCaller) {
  ExpectSaved(ranks_, EveryDType(),
              {.shard_bytes = 500,
               .packing = safetensors::Packing::kByParent,
               .metadata = {{"format", "pt"}, {"a", "b"}}},
              Make());
}

TEST_P(SaveTensorsRanksTest, OtherShardsReplaceThoseThatWereThere) {
  const StorePtr store = Make();
  const std::vector<Case> before = {{"a", {8, 8}, DType::kInt32, PartitionSpec{"dp"}},
                                    {"b", {16}},
                                    {"c", {8, 2}, DType::kInt8, PartitionSpec{"tp"}},
                                    {"d", {30}}};
  const std::vector<Case> after = {{"a", {8, 16}, DType::kInt32, PartitionSpec{{}, "tp"}},
                                   {"e", {40}}};
  ExpectSaved(ranks_, before, {.shard_bytes = 120}, store);
  ExpectSaved(ranks_, after, {.shard_bytes = 600}, store);
  ExpectSaved(ranks_, before, {}, store);
  ExpectSaved(ranks_, after, {}, store);
  ExpectSaved(ranks_, before, {.shard_bytes = 120}, store);
}

TEST(SaveTensorsTest, FloatsAreStoredAsAsked) {
  const StorePtr store = EmptyStore();
  const std::vector<float> values = {1, -2.5, 3.25, 1e30};
  const auto floats =
      array::HostArray::CopyOf({{4}, DType::kFloat32}, std::as_bytes(std::span(values)));
  const Tree tree = Tree::MakeDict({{"w", *floats}, {"n", HostIota({3})}});
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const SaveReport report,
      Save(tree).To(store).AsSafetensors().FloatsAs(DType::kBfloat16).Run());
  EXPECT_EQ(report.arrays, 2);
  EXPECT_EQ(report.nbytes, 8 + 12);
  EXPECT_EQ(report.stored_bytes, 8 + 12);
  IoContext io({.in_flight = 2});
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto set,
                               safetensors::FileSet::Open(*store, "model.safetensors", io));
  EXPECT_EQ(set.TensorOf(set.tensors()[1]).dtype, DType::kBfloat16);
}

TEST(SaveTensorsTest, LeavesThatAreNoArraysAreToldOf) {
  const StorePtr store = EmptyStore();
  const Tree tree = Tree::MakeDict({{"layers", Tree::List({HostIota({2}), HostIota({3})})},
                                    {"step", array::MakeScalar(int64_t{7})},
                                    {"f", array::Opaque{.type_name = "function"}}});
  TESSERA_ASSERT_OK_AND_ASSIGN(const SaveReport report, Save(tree).To(store).AsSafetensors().Run());
  EXPECT_THAT(report.lost, ElementsAre(LostLeaf{"f", "function"}, LostLeaf{"step", "int"}));
  ExpectVouched(*store, "model.safetensors", 2);
}

TEST(SaveTensorsTest, AStoreWithoutPartsTakesFilesFromOneRank) {
  const StorePtr whole = WholeValues();
  ExpectSaved(1, EveryDType(), {}, whole);
  ExpectSaved(1, LargeOnes(), {.shard_bytes = 10'000'000}, WholeValues());
  // What lies in host memory is rank 0's.
  ExpectSaved(4, {{"a", {5}}, {"b", {600, 2048}}}, {}, WholeValues());
  const StorePtr other = WholeValues();
  EXPECT_THAT(SaveOverRanks(2, EveryDType(), OptionsOf({}), other),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("2 ranks cannot write one file together in this store")));
  EXPECT_THAT(FilesIn(*other), IsEmpty());
}

TEST(SaveTensorsTest, ARankThatFailsLeavesWhatWasThere) {
  const StorePtr store = EmptyStore();
  const std::vector<Case> before = {{"a", {5}}};
  ExpectSaved(1, before, {}, store);
  for (const int64_t call : {0, 1, 2, 5}) {
    const absl::Status status = comm::RunRanks(4, [&](comm::Comm& comm) -> absl::Status {
      const auto platform = PlatformOfRank(4, comm.rank());
      IoContext io({.in_flight = 2});
      Saver saver({.io = &io, .platform = platform.get(), .comm = &comm});
      StorePtr mine = store;
      if (comm.rank() == 2) {
        mine = std::make_shared<store::testing::FaultStore>(
            *store, store::testing::FaultPlan{.at_call = call});
      }
      TESSERA_RETURN_IF_ERROR(
          saver.Start(mine, TreeOf(EveryDType(), 4, *platform), OptionsOf({.shard_bytes = 300})));
      EXPECT_THAT(saver.WaitUntilFinished(),
                  StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 2")));
      return absl::OkStatus();
    });
    EXPECT_THAT(status, IsOk());
    EXPECT_EQ(FilesIn(*store), ExpectedFiles(before, {}));
    EXPECT_THAT(OwnKeys(*store), ElementsAre(SealKey("model.safetensors")));
  }
}

// A file of somebody else.
void Put(store::KvStore& store, const std::string& key, std::string_view text) {
  ASSERT_THAT(store.Write(key, std::as_bytes(std::span(text))), IsOk());
}

TEST(SaveTensorsTest, FilesOfOthersAreNeitherReplacedNorDeleted) {
  const StorePtr store = EmptyStore();
  const std::vector<Case> cases = {{"a", {20}}, {"b", {20}}};
  const auto expect_refused = [&](const SafetensorsFormat& format, const std::string& name) {
    const Files before = FilesIn(*store);
    EXPECT_THAT(SaveOverRanks(1, cases, OptionsOf(format), store),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr(name), HasSubstr("not part of what the save replaces"))));
    EXPECT_EQ(FilesIn(*store), before);
    EXPECT_THAT(OwnKeys(*store), IsEmpty());
  };
  Put(*store, "model.safetensors", "no tensors");
  Put(*store, "model.safetensors.index.json", "{\"other\": 1}");
  Put(*store, "x-00001-of-00002.safetensors", "part of no set");
  expect_refused({}, "model.safetensors");
  expect_refused({.shard_bytes = 80}, "model.safetensors.index.json");
  expect_refused({.stem = "x", .shard_bytes = 80}, "x-00001-of-00002.safetensors");
  // Another stem is not in their way.
  EXPECT_THAT(SaveOverRanks(1, cases, OptionsOf({.stem = "y", .shard_bytes = 80}), store), IsOk());
  EXPECT_EQ(FilesIn(*store).size(), 3 + 3);
}

TEST(SaveTensorsTest, OnlyFilesOfTheStemGoWithTheIndexThatNamesThem) {
  const StorePtr store = EmptyStore();
  const std::vector<Case> cases = {{"a", {20}}, {"b", {20}}};
  ExpectSaved(1, cases, {.shard_bytes = 80}, store);
  Put(*store, "model.safetensors.index.json",
      R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "other.safetensors",
          "c": "model-notes.txt"}})");
  Put(*store, "other.safetensors", "b");
  Put(*store, "model-notes.txt", "notes");
  ASSERT_THAT(SaveOverRanks(1, cases, OptionsOf({}), store), IsOk());
  std::vector<std::string> names;
  for (const auto& [name, text] : FilesIn(*store)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("model-00002-of-00002.safetensors", "model-notes.txt",
                                 "model.safetensors", "other.safetensors"));
}

TEST(SaveTensorsTest, AWholeSeriesWithoutAnIndexIsASet) {
  const StorePtr store = EmptyStore();
  const std::vector<Case> cases = {{"a", {20}}, {"b", {20}}};
  ExpectSaved(1, cases, {.shard_bytes = 80}, store);
  ASSERT_THAT(store->Delete("model.safetensors.index.json"), IsOk());
  ExpectSaved(1, cases, {.shard_bytes = 80}, store);
}

TEST(SaveTensorsTest, SavesOfOneStemExcludeEachOther) {
  const StorePtr store = EmptyStore();
  const auto platform = Host(8);
  const std::vector<Case> cases = {{"a", {20}}};
  const auto plan = PlanSave(TreeOf(cases, 1, *platform), OptionsOf({}).plan, 1);
  ASSERT_THAT(plan, IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const auto other,
      commit::Transaction::Begin(*store, {"model.safetensors", {"model.safetensors"}}));
  EXPECT_THAT(SaveOverRanks(1, cases, OptionsOf({.shard_bytes = 9}), store),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("is under way")));
  EXPECT_THAT(SaveOverRanks(1, cases, OptionsOf({.stem = "second"}), store), IsOk());
  EXPECT_THAT(Save(TreeOf(cases, 1, *platform)).To(store).Prefix("p").Run(), IsOk());
}

TEST(SaveTensorsTest, SideFilesAppearWithTheSet) {
  const StorePtr store = EmptyStore();
  SaveOptions options = OptionsOf({});
  options.side_files = {{"config.json", Bytes::CopyOf("{}")}};
  options.shared_files = {{"checkpoint_metadata.json", Bytes::CopyOf("[]")}};
  ASSERT_THAT(SaveOverRanks(1, {{"a", {20}}}, options, store), IsOk());
  const Files files = FilesIn(*store);
  EXPECT_EQ(files.at("config.json"), "{}");
  EXPECT_EQ(files.at("checkpoint_metadata.json"), "[]");
  ExpectVouched(*store, "model.safetensors", 1);
}

TEST(PlanTensorsTest, SaysWhatItCannotDo) {
  const auto platform = PlatformOfRank(4, 0);
  const auto expect = [&](const Tree& tree, const PlanOptions& options, absl::StatusCode code,
                          std::string_view message) {
    EXPECT_THAT(PlanSave(tree, options, 4), StatusIs(code, HasSubstr(std::string(message))));
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Tree good = Tree::MakeDict({{"a", HostIota({2})}});
  const SafetensorsFormat format;
  expect(good, {.format = format, .prefix = "p"}, kInvalid,
         "prefix 'p': safetensors have none; the stem");
  expect(good, {.format = format, .codec = JaxCodec()}, kInvalid, "but 1 codecs were asked for");
  expect(Tree(HostIota({2})), {.format = format}, kInvalid, "has no key to call the tensor by");
  expect(good, {.format = SafetensorsFormat{.stem = "m-00001-of-00002"}}, kInvalid,
         "stem 'm-00001-of-00002': is the name of a file of the stem 'm'");
  expect(Tree::MakeDict({{"a.b", HostIota({2})}, {"a", Tree::MakeDict({{"b", HostIota({2})}})}}),
         {.format = format}, kInvalid, "a.b");
  expect(TreeOf({{"i", {2}, DType::kInt4}, {"c", {2}, DType::kComplex128}}, 4, *platform),
         {.format = format}, absl::StatusCode::kUnimplemented, "'c' (complex128), 'i' (int4)");
  // Three elements of four bits are a byte and a half.
  expect(TreeOf({{"half", {4, 12}, DType::kFloat4E2m1fn, PartitionSpec{{}, "tp"}}}, 4, *platform),
         {.format = format}, absl::StatusCode::kUnimplemented,
         "half: several ranks hold parts of one byte: float4_e2m1fn elements");
  EXPECT_THAT(PlanSave(TreeOf({{"half", {4, 12}, DType::kFloat4E2m1fn, PartitionSpec{{}, "tp"}}}, 1,
                              *Host(8)),
                       {.format = format}, 1),
              IsOk());
  SaveOptions options = OptionsOf({});
  options.write_index = false;
  EXPECT_THAT(SaveOverRanks(1, {{"a", {2}}}, options, EmptyStore()),
              StatusIs(kInvalid, HasSubstr("write_index is false")));
}

TEST(PlanTensorsTest, ElementsUnderAByteOfOneRankArePutTogether) {
  ExpectSaved(1,
              {{"half", {4, 12}, DType::kFloat4E2m1fn, PartitionSpec{{}, "tp"}},
               {"six", {4, 20}, DType::kFloat6E2m3fn, PartitionSpec{{}, "tp"}}},
              {}, EmptyStore());
}

TEST(PlanTensorsTest, BlocksThatOneRankCanWriteAreOneRanks) {
  const auto platform = PlatformOfRank(4, 0);
  const auto plan_of = [&](const Dims& shape, PartitionSpec spec) {
    return *PlanSave(TreeOf({{"w", shape, DType::kInt32, std::move(spec)}}, 4, *platform),
                     OptionsOf({}).plan, 4);
  };
  // Six blocks, of which each rank takes its share.
  const SavePlan replicated = plan_of({6144, 1024}, {});
  EXPECT_THAT(SharedBlocks(replicated), IsEmpty());
  EXPECT_EQ(replicated.arrays[0].parts.size(), 6);
  for (const RankLoad& load : replicated.ranks) EXPECT_GE(load.chunks, 1);
  // Ranks 0 and 1 hold the upper half, split by columns, and so the others the lower one.
  const SavePlan columns = plan_of({2048, 1024}, {"dp", "tp"});
  EXPECT_THAT(SharedBlocks(columns), ElementsAre(PlannedBlock{0, 0}, PlannedBlock{0, 1}));
  // Rows that end with the blocks.
  EXPECT_THAT(SharedBlocks(plan_of({4096, 1024}, {"tp"})), IsEmpty());
  EXPECT_THAT(SharedBlocks(plan_of({4100, 1024}, {"tp"})), Not(IsEmpty()));
}

TEST(PlanTensorsTest, TheTextAndTheDigestTellOfTheFiles) {
  const auto platform = PlatformOfRank(4, 0);
  const Tree tree = TreeOf({{"w", {8, 4}, DType::kInt32, PartitionSpec{"dp"}}}, 4, *platform);
  const SavePlan plan = *PlanSave(tree, OptionsOf({.shard_bytes = 1000}).plan, 4);
  EXPECT_THAT(plan.Text(), HasSubstr("model-00001-of-00001.safetensors: 1 tensors, "));
  EXPECT_THAT(plan.Text(), HasSubstr("w: int32[8,4], chunks [8,4] (block, 128 bytes)"));
  const SavePlan other = *PlanSave(tree, OptionsOf({.stem = "m", .shard_bytes = 1000}).plan, 4);
  const SavePlan metadata =
      *PlanSave(tree, OptionsOf({.shard_bytes = 1000, .metadata = {{"a", "b"}}}).plan, 4);
  EXPECT_NE(DigestOf(plan), DigestOf(other));
  EXPECT_NE(DigestOf(plan), DigestOf(metadata));
  EXPECT_EQ(DigestOf(plan), DigestOf(*PlanSave(tree, OptionsOf({.shard_bytes = 1000}).plan, 4)));
}

}  // namespace
}  // namespace tessera::checkpoint
