// Every byte of a small checkpoint is damaged in turn: verify must name the file, and a load must
// refuse.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/array/testing/arrays.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/memory_store.h"
#include "tessera/zarr/array.h"

namespace tessera::checkpoint {
namespace {

using ::tessera::array::testing::HostIota;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tree = array::ValueTree;
using StorePtr = std::shared_ptr<store::KvStore>;

Tree Small() {
  return Tree::MakeDict({{"w", array::Value(HostIota({4, 2}))},
                         {"layers", Tree::List({array::Value(HostIota({3})),
                                                array::Value(array::MakeScalar(int64_t{7}))})}});
}

// Two prefixes, several chunks, a compressed and a plain one.
StorePtr SavedByUs() {
  StorePtr store = store::MakeMemoryStore();
  EXPECT_THAT(Save(Small()).To(store).Prefix("model").Codec(JaxCodec()).ChunkBytes(16).Run(),
              IsOk());
  EXPECT_THAT(Save(Small()).To(store).Prefix("tx").Codec(CodecList{}).Run(), IsOk());
  return store;
}

void Write(store::KvStore& store, const std::string& key, std::string_view text) {
  ASSERT_THAT(store.Write(key, std::as_bytes(std::span(text))), IsOk());
}

// What eformer would leave, and then sealed.
StorePtr SealedByUs() {
  StorePtr store = store::MakeMemoryStore();
  const ShapeDtype about{{4, 2}, DType::kInt32};
  const auto array =
      zarr::Array::Create(*store, "model/w", zarr::JaxMetadata(about, Dims{2, 2})).value();
  const array::HostArray values = HostIota({4, 2});
  IoContext io;
  EXPECT_THAT(array.Write(Box::Whole(about.shape), values.view(), io), IsOk());
  Write(*store, "tensorstore_index.json",
        R"({"format": "tensorstore", "version": "0.1.0", "prefixes": {"model": [)"
        R"({"path": "model/w", "shape": [4, 2], "dtype": "int32"}]}})");
  EXPECT_THAT(SealCheckpoint(*store, io), IsOk());
  return store;
}

class Damage : public ::testing::Test {
 protected:
  absl::Status TryLoad(store::KvStore& store, const std::string& prefix) {
    TESSERA_ASSIGN_OR_RETURN(const Checkpoint opened,
                             Checkpoint::Open(store, io_, {.prefix = prefix}));
    return LoadCheckpoint(opened, {}, {io_, *platform_}).status();
  }

  IoContext io_;
  std::unique_ptr<device::Platform> platform_ = device::MakeHostPlatform({.count = 1}).value();
};

// Files that hold nothing a load needs.
bool OnlyForPeople(std::string_view file) { return file == "checkpoint_metadata.json"; }

class EveryDamage : public Damage, public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(SavedAndSealed, EveryDamage, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Sealed" : "Saved"; });

TEST_P(EveryDamage, IsFoundByVerifyAndRefusedByLoad) {
  const StorePtr store = GetParam() ? SealedByUs() : SavedByUs();
  const std::vector<std::string> prefixes =
      GetParam() ? std::vector<std::string>{"model"} : std::vector<std::string>{"model", "tx"};
  const auto clean = VerifyCheckpoint(*store, io_);
  ASSERT_THAT(clean, IsOk());
  ASSERT_THAT(clean->problems, IsEmpty());
  ASSERT_EQ(clean->unsealed_arrays, 0);
  for (const std::string& prefix : prefixes) ASSERT_THAT(TryLoad(*store, prefix), IsOk());
  const auto files = store->List("").value();
  for (const store::ListEntry& file : files) {
    const Bytes value = store->Read(file.key)->value.value();
    const auto damaged = [&](std::string_view text, const std::string& what) {
      Write(*store, file.key, text);
      const auto report = VerifyCheckpoint(*store, io_);
      ASSERT_TRUE(report.ok()) << file.key << ", " << what << ": " << report.status();
      EXPECT_FALSE(report->ok()) << file.key << ", " << what;
      if (OnlyForPeople(file.key)) return;
      bool refused = false;
      for (const std::string& prefix : prefixes) refused |= !TryLoad(*store, prefix).ok();
      EXPECT_TRUE(refused) << file.key << ", " << what;
    };
    for (size_t at = 0; at < value.size(); ++at) {
      std::string text(value.text());
      text[at] = static_cast<char>(text[at] ^ (1 << (at % 8)));
      damaged(text, Concat("byte ", at, " flipped"));
    }
    for (size_t size = 0; size < value.size(); size += 1 + value.size() / 40) {
      damaged(value.text().substr(0, size), Concat("cut to ", size, " bytes"));
    }
    // White space behind JSON is none.
    if (file.key != ledger::kIndexName) damaged(Concat(value.text(), "x"), "a byte added");
    ASSERT_THAT(store->Delete(file.key), IsOk());
    if (file.key != ledger::kIndexName) {
      const auto report = VerifyCheckpoint(*store, io_);
      ASSERT_THAT(report, IsOk()) << file.key;
      EXPECT_FALSE(report->ok() && report->unsealed_arrays == 0) << file.key << " deleted";
    }
    Write(*store, file.key, value.text());
  }
  EXPECT_THAT(VerifyCheckpoint(*store, io_)->problems, IsEmpty());
}

TEST_F(Damage, NamesArrayAndChunk) {
  const StorePtr store = SavedByUs();
  Write(*store, "model/w/1.0", "nonsense");
  const auto report = VerifyCheckpoint(*store, io_);
  ASSERT_THAT(report, IsOk());
  ASSERT_EQ(report->problems.size(), 1);
  EXPECT_EQ(report->problems[0].key, "model.w");
  EXPECT_EQ(report->problems[0].file, "model/w/1.0");
  EXPECT_THAT(report->problems[0].problem, HasSubstr("found 8 bytes, expected"));
  EXPECT_THAT(TryLoad(*store, "model"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("model/w/1.0")));
  EXPECT_THAT(TryLoad(*store, "tx"), IsOk());
}

TEST_F(Damage, QuickLooksAtNamesAndSizesOnly) {
  const StorePtr store = SavedByUs();
  std::string chunk(store->Read("tx/w/0.0")->value->text());
  chunk[0] ^= 1;
  Write(*store, "tx/w/0.0", chunk);
  EXPECT_THAT(VerifyCheckpoint(*store, io_, {.quick = true})->problems, IsEmpty());
  EXPECT_EQ(VerifyCheckpoint(*store, io_)->problems.size(), 1);
  ASSERT_THAT(store->Delete("tx/w/0.0"), IsOk());
  const auto quick = VerifyCheckpoint(*store, io_, {.quick = true});
  ASSERT_EQ(quick->problems.size(), 1);
  EXPECT_THAT(quick->problems[0].problem, HasSubstr("missing; it had 32 bytes"));
}

TEST_F(Damage, IsNotSealed) {
  const StorePtr store = SealedByUs();
  Write(*store, "model/w/0.0", "nonsense");
  EXPECT_THAT(SealCheckpoint(*store, io_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("model/w/0.0")));
  ASSERT_THAT(store->Delete("model/w/0.0"), IsOk());
  EXPECT_THAT(SealCheckpoint(*store, io_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no fill value")));
}

TEST_F(Damage, IsSealedOnlyWhereAnotherProgramSavedOverUs) {
  const StorePtr store = SavedByUs();
  // What a program does that saves other values of the same tree, by our own metadata.
  const zarr::Array array = zarr::Array::Open(*store, "model/w").value();
  const Dims shape = array.metadata().shape;
  const std::vector<int32_t> values(static_cast<size_t>(*NumElements(shape)), 7);
  const auto bytes = reinterpret_cast<const std::byte*>(values.data());
  ASSERT_THAT(array.Write(Box::Whole(shape), RowMajorView(bytes, shape, 4), io_), IsOk());
  EXPECT_THAT(TryLoad(*store, "model"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("model/w/"), HasSubstr("seal it again"))));
  EXPECT_FALSE(VerifyCheckpoint(*store, io_)->ok());

  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport first, SealCheckpoint(*store, io_));
  EXPECT_THAT(first.sealed, ElementsAre("model"));
  EXPECT_THAT(first.replaced, ElementsAre("model"));
  EXPECT_THAT(first.had_seal, ElementsAre("tx"));
  EXPECT_THAT(TryLoad(*store, "model"), IsOk());
  EXPECT_EQ(Checkpoint::Open(*store, io_, {.prefix = "model"})->integrity(), Integrity::kSeal);
  EXPECT_THAT(VerifyCheckpoint(*store, io_)->problems, IsEmpty());
  // A seal that holds is left alone.
  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport again, SealCheckpoint(*store, io_));
  EXPECT_THAT(again.sealed, IsEmpty());

  // Later damage is found as ever, and a new save of ours ends the seal.
  const Bytes seal = store->Read(".tessera/seals/model.json")->value.value();
  Write(*store, ".tessera/seals/model.json", seal.text().substr(0, seal.size() - 1));
  EXPECT_THAT(TryLoad(*store, "model"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("seals")));
  Write(*store, ".tessera/seals/model.json", seal.text());
  EXPECT_THAT(Save(Small()).To(store).Prefix("model").Codec(JaxCodec()).ChunkBytes(16).Run(),
              IsOk());
  EXPECT_THAT(TryLoad(*store, "model"), IsOk());
  EXPECT_EQ(Checkpoint::Open(*store, io_, {.prefix = "model"})->integrity(), Integrity::kManifest);
  EXPECT_THAT(VerifyCheckpoint(*store, io_)->problems, IsEmpty());
}

TEST_F(Damage, OfTheListThatAnotherProgramReplacedIsSealedWithItsNewArrays) {
  const StorePtr store = SavedByUs();
  const ShapeDtype about{{3}, DType::kInt32};
  const auto array = zarr::Array::Create(*store, "model/new", zarr::JaxMetadata(about, Dims{3}));
  ASSERT_THAT(array->Write(Box::Whole(about.shape), HostIota({3}).view(), io_), IsOk());
  std::string index(store->Read(ledger::kIndexName)->value->text());
  const size_t list = index.find("\"model\": [") + 10;
  index.insert(list, R"({"path": "model/new", "shape": [3], "dtype": "int32"},)");
  Write(*store, std::string(ledger::kIndexName), index);
  EXPECT_THAT(TryLoad(*store, "model"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("seal it again")));
  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport sealed, SealCheckpoint(*store, io_));
  EXPECT_THAT(sealed.replaced, ElementsAre("model"));
  EXPECT_THAT(TryLoad(*store, "model"), IsOk());
  EXPECT_THAT(VerifyCheckpoint(*store, io_)->problems, IsEmpty());
}

TEST_F(Damage, WithoutAManifestIsFoundWhereItDoesNotDecode) {
  const StorePtr store = SealedByUs();
  ASSERT_THAT(store->DeletePrefix(".tessera/"), IsOk());
  const auto clean = VerifyCheckpoint(*store, io_);
  ASSERT_THAT(clean, IsOk());
  EXPECT_THAT(clean->problems, IsEmpty());
  EXPECT_EQ(clean->unsealed_arrays, 1);
  EXPECT_EQ(clean->chunks, 2);
  ASSERT_THAT(store->Delete("model/w/1.0"), IsOk());
  const auto report = VerifyCheckpoint(*store, io_);
  ASSERT_EQ(report->problems.size(), 1);
  EXPECT_EQ(report->problems[0].file, "model/w/1.0");
}

TEST_F(Damage, OfAnArrayInTheFolderItselfIsFoundOnceItIsSealed) {
  const StorePtr store = store::MakeMemoryStore();
  const auto array =
      zarr::Array::Create(*store, "", zarr::JaxMetadata({{4}, DType::kInt32}, Dims{4})).value();
  const array::HostArray values = HostIota({4});
  ASSERT_THAT(array.Write(Box::Whole(Dims{4}), values.view(), io_), IsOk());
  ASSERT_THAT(SealCheckpoint(*store, io_), IsOk());
  const auto clean = VerifyCheckpoint(*store, io_);
  ASSERT_THAT(clean, IsOk());
  EXPECT_THAT(clean->problems, IsEmpty());
  EXPECT_EQ(clean->unsealed_arrays, 0);
  ASSERT_THAT(TryLoad(*store, ""), IsOk());
  Write(*store, "0", "nonsense");
  EXPECT_EQ(VerifyCheckpoint(*store, io_)->problems.size(), 1);
  EXPECT_THAT(TryLoad(*store, ""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes")));
}

TEST_F(Damage, IsToldUnderTheKeyThatWasSaved) {
  const StorePtr store = store::MakeMemoryStore();
  const Tree dotted = Tree::MakeDict({{"a.b", array::Value(HostIota({4}))}});
  ASSERT_THAT(Save(dotted).To(store).Prefix("m").Run(), IsOk());
  Write(*store, "m/a%2Eb/0", "nonsense");
  const auto report = VerifyCheckpoint(*store, io_);
  ASSERT_EQ(report->problems.size(), 1);
  EXPECT_EQ(report->problems[0].key, "m.a.b");
}

TEST_F(Damage, OfAChunkThatMayBeAbsentIsNone) {
  const StorePtr store = store::MakeMemoryStore();
  zarr::Metadata metadata = zarr::JaxMetadata({{4, 2}, DType::kInt32}, Dims{2, 2});
  metadata.fill_value = std::vector<std::byte>(4);
  const auto array = zarr::Array::Create(*store, "w", metadata).value();
  const array::HostArray half = HostIota({2, 2});
  ASSERT_THAT(array.Write(Box::Whole(Dims{2, 2}), half.view(), io_), IsOk());
  const auto sealed = SealCheckpoint(*store, io_);
  ASSERT_THAT(sealed, IsOk());
  EXPECT_EQ(sealed->chunks, 1);
  EXPECT_THAT(sealed->sealed, ElementsAre(""));
  EXPECT_THAT(VerifyCheckpoint(*store, io_)->problems, IsEmpty());
  EXPECT_THAT(TryLoad(*store, ""), IsOk());
  // One that appears later was not sealed.
  ASSERT_THAT(array.Write(Box::Make(Dims{2, 0}, Dims{2, 2}).value(), half.view(), io_), IsOk());
  EXPECT_THAT(TryLoad(*store, ""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("w/1.0")));
}

}  // namespace
}  // namespace tessera::checkpoint
