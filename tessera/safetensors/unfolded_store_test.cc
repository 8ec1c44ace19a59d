#include "tessera/safetensors/unfolded_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/store/file_store.h"
#include "tessera/store/key.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::safetensors {
namespace {

using store::ByteRange;
using store::KvStore;
using store::ListEntry;
using store::ReadRequest;
using store::ReadResult;
using store::ValueInfo;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::ElementsAre;
using testing::FileOf;
using ::testing::HasSubstr;
using testing::SmallTensor;

constexpr size_t kLarge = (size_t{4} << 20) + 1000;  // two blocks

std::string Numbers(size_t count) {
  std::string text(count, '\0');
  for (size_t i = 0; i < count; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

std::vector<SmallTensor> Tensors() {
  return {{"large", DType::kUint8, {static_cast<int64_t>(kLarge)}, Numbers(kLarge)},
          {"layer/norm", DType::kFloat32, {}, "abcd"},
          {"none", DType::kInt64, {0, 5}, ""}};
}

// One that is on disk, and one that is in memory.
class UnfoldedStoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    base_ = GetParam() ? *store::OpenFileStore(folder_.path().string()) : store::MakeMemoryStore();
    file_ = FileOf(Tensors());
    Put("run/m", file_);
    Put("run/notes.txt", "hello");
    auto set = FileSet::Open(*base_, "run/m", io_);
    ASSERT_THAT(set, IsOk());
    data_begin_ = set->files()[0].data_begin;
    unfolded_ = MakeUnfoldedStore(*base_, *set);
  }
  void Put(std::string_view key, std::string_view text) {
    ASSERT_THAT(base_->Write(key, std::as_bytes(std::span(text))), IsOk());
  }
  std::string TextAt(std::string_view key, const ByteRange& range = {}) {
    const auto result = unfolded_->Read(key, range);
    if (!result.ok()) return result.status().ToString();
    return result->value.has_value() ? std::string(result->value->text()) : "<missing>";
  }
  // All values and what is in them.
  std::map<std::string, std::string> Expected() const {
    const std::string large = Numbers(kLarge);
    const std::string one = Concat("[0,", kLarge, "]");
    return {
        {"run/m/header", file_.substr(0, data_begin_)},
        {"run/m/large/tensor.json",
         Concat(R"({"dtype":"U8","shape":[)", kLarge, R"(],"data_offsets":)", one, "}")},
        {"run/m/large/0", large.substr(0, size_t{4} << 20)},
        {"run/m/large/1", large.substr(size_t{4} << 20)},
        {"run/m/layer%2Fnorm/tensor.json",
         Concat(R"({"dtype":"F32","shape":[],"data_offsets":[)", kLarge, ",", kLarge + 4, "]}")},
        {"run/m/layer%2Fnorm/0", "abcd"},
        {"run/m/none/tensor.json", Concat(R"({"dtype":"I64","shape":[0,5],"data_offsets":[)",
                                          kLarge + 4, ",", kLarge + 4, "]}")},
        {"run/notes.txt", "hello"}};
  }

  const store::testing::TemporaryFolder folder_;
  std::unique_ptr<KvStore> base_;
  std::unique_ptr<KvStore> unfolded_;
  std::string file_;
  uint64_t data_begin_ = 0;
  IoContext io_{{.in_flight = 2}};
};

INSTANTIATE_TEST_SUITE_P(Stores, UnfoldedStoreTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "file" : "memory"; });

TEST_P(UnfoldedStoreTest, ListsHeadersTensorsAndBlocksInPlaceOfTheFile) {
  const auto listed = [&](std::string_view prefix) {
    std::vector<ListEntry> expected;
    for (const auto& [key, value] : Expected()) {
      if (key.starts_with(prefix)) expected.push_back({key, value.size()});
    }
    return expected;
  };
  for (const char* prefix : {"", "run/", "run/m", "run/m/", "run/m/la", "run/m/large/", "run/n",
                             "run/m/large/1", "run/m/x", "elsewhere/"}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto entries, unfolded_->List(prefix));
    EXPECT_EQ(entries, listed(prefix)) << prefix;
  }
}

TEST_P(UnfoldedStoreTest, EveryWayOfReadingGivesTheSame) {
  for (const auto& [key, value] : Expected()) {
    SCOPED_TRACE(key);
    EXPECT_TRUE(TextAt(key) == value);
    std::vector<std::byte> target(value.size() + 3);
    TESSERA_ASSERT_OK_AND_ASSIGN(const ValueInfo all, unfolded_->ReadAll(key, target));
    EXPECT_EQ(all.size, value.size());
    const std::string_view front(reinterpret_cast<const char*>(target.data()), value.size());
    EXPECT_TRUE(front == value);
    TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes mapped, unfolded_->Map(key));
    EXPECT_TRUE(mapped.text() == value);
    std::string pieces;
    TESSERA_ASSERT_OK_AND_ASSIGN(
        const ValueInfo info,
        unfolded_->ReadPieces(
            key, {1}, std::span(target).first(3), [&](std::span<const std::byte> piece) {
              pieces.append(reinterpret_cast<const char*>(piece.data()), piece.size());
              return absl::OkStatus();
            }));
    EXPECT_TRUE(pieces == value.substr(1));
    EXPECT_EQ(info, all);
  }
}

TEST_P(UnfoldedStoreTest, RangesCountFromTheValue) {
  const std::string key = "run/m/layer%2Fnorm/0";
  EXPECT_EQ(TextAt(key, {1, 2}), "bc");
  EXPECT_EQ(TextAt(key, ByteRange::Last(1)), "d");
  EXPECT_EQ(TextAt("run/m/none/tensor.json", {2, 5}), "dtype");
  std::string target = "..";
  TESSERA_ASSERT_OK_AND_ASSIGN(
      const ValueInfo info, unfolded_->ReadInto(key, 2, std::as_writable_bytes(std::span(target))));
  EXPECT_EQ(target, "cd");
  EXPECT_EQ(info.size, 4u);
  const auto past = StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("of a value of 4 bytes"));
  EXPECT_THAT(unfolded_->Read(key, {2, 3}), past);
  EXPECT_THAT(unfolded_->Read(key, ByteRange::AtMost(3)), past);
  EXPECT_THAT(unfolded_->ReadInto(key, 3, std::as_writable_bytes(std::span(target))), past);
  EXPECT_THAT(unfolded_->ReadAll(key, std::as_writable_bytes(std::span(target))), past);
  EXPECT_THAT(unfolded_->ReadMany(std::vector<ReadRequest>{{key, {5}}}), past);
}

TEST_P(UnfoldedStoreTest, ManyReadsAnswerInOrder) {
  const std::vector<ReadRequest> requests = {{"run/notes.txt", {1, 2}},
                                             {"run/m/layer%2Fnorm/0"},
                                             {"run/m/none/tensor.json", {1, 7}},
                                             {"run/m/large/9"},
                                             {"run/m/large/1", {0, 1}}};
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto results, unfolded_->ReadMany(requests));
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[0].value->text(), "el");
  EXPECT_EQ(results[1].value->text(), "abcd");
  EXPECT_EQ(results[1].size, 4u);
  EXPECT_EQ(results[2].value->text(), "\"dtype\"");
  EXPECT_FALSE(results[3].value.has_value());
  EXPECT_EQ(results[4].size, 1000u);
}

TEST_P(UnfoldedStoreTest, WhatIsNoValueIsMissing) {
  for (const char* key : {"run/m/large/2", "run/m/large/01", "run/m/large/+1", "run/m/large/-1",
                          "run/m/large/1x", "run/m/large/99999999999999999999", "run/m/none/0",
                          "run/m/layer/norm/0", "run/m/large", "run/m/x/0", "run/m/x"}) {
    EXPECT_EQ(TextAt(key), "<missing>") << key;
  }
  EXPECT_TRUE(TextAt("run/m") == file_);
}

TEST_P(UnfoldedStoreTest, DescriptionsNameFileAndBytes) {
  EXPECT_EQ(unfolded_->Describe("run/m/header"),
            Concat(base_->Describe("run/m"), ": bytes [0, ", data_begin_, ")"));
  EXPECT_EQ(unfolded_->Describe("run/m/large/1"),
            Concat(base_->Describe("run/m"), ": bytes [", data_begin_ + (4 << 20), ", ",
                   data_begin_ + kLarge, ")"));
  EXPECT_EQ(unfolded_->Describe("run/m/none/tensor.json"),
            Concat(base_->Describe("run/m"), ": 'run/m/none/tensor.json'"));
  EXPECT_EQ(unfolded_->Describe("run/notes.txt"), base_->Describe("run/notes.txt"));
}

TEST_P(UnfoldedStoreTest, AFileThatWasReplacedIsToldAndOneThatIsGoneIsMissing) {
  Put("run/m", file_ + "x");
  const auto aborted =
      StatusIs(absl::StatusCode::kAborted, HasSubstr("run/m: was replaced since its header"));
  EXPECT_THAT(unfolded_->Read("run/m/large/0"), aborted);
  EXPECT_THAT(unfolded_->ReadInto("run/m/large/0", 0, {}), aborted);
  EXPECT_THAT(unfolded_->ReadMany(std::vector<ReadRequest>{{"run/m/header"}, {"x"}}), aborted);
  EXPECT_THAT(unfolded_->Map("run/m/header"), aborted);
  ASSERT_THAT(base_->Delete("run/m"), IsOk());
  EXPECT_EQ(TextAt("run/m/large/0"), "<missing>");
  TESSERA_ASSERT_OK_AND_ASSIGN(const auto left, unfolded_->List(""));
  EXPECT_THAT(left, ElementsAre(ListEntry{"run/notes.txt", 5}));
}

TEST_P(UnfoldedStoreTest, NothingIsWritten) {
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("are not written to"));
  EXPECT_FALSE(unfolded_->writes_parts());
  EXPECT_FALSE(unfolded_->moves());
  EXPECT_THAT(unfolded_->Write("x", {}), refused);
  EXPECT_THAT(unfolded_->WritePieces("x", [](Sink) { return absl::OkStatus(); }), refused);
  EXPECT_THAT(unfolded_->Delete("run/notes.txt"), refused);
  EXPECT_THAT(unfolded_->DeletePrefix("run/"), refused);
  EXPECT_THAT(unfolded_->MovePrefix("run/", "x/"), refused);
  EXPECT_THAT(unfolded_->Reserve("x", 1), refused);
  EXPECT_THAT(unfolded_->WriteAt("run/notes.txt", 0, {}), refused);
}

TEST(UnfoldedPathTest, EveryNameIsAnotherKeyThatCanBe) {
  const std::string nul("a\0b", 3);
  const std::vector<std::string> names = {"",
                                          "%",
                                          ".",
                                          "..",
                                          "...",
                                          "a/b",
                                          "a%2Fb",
                                          "a%2fb",
                                          "header",
                                          "%68eader",
                                          "headers",
                                          "a.b",
                                          nul,
                                          "a\nb",
                                          "é",
                                          "x.tessera-tmp-1",
                                          "x%2Etessera-tmp-1",
                                          std::string(1000, 'n'),
                                          std::string(999, 'n') + "m",
                                          std::string(300, '/')};
  std::set<std::string> keys;
  for (const std::string& name : names) {
    const std::string key = UnfoldedPath("f", name);
    EXPECT_TRUE(keys.insert(key).second) << key;
    EXPECT_THAT(store::ValidateKey(key), IsOk());
    EXPECT_EQ(store::SplitKey(key).first, "f") << key;
    EXPECT_NE(key, "f/header");
  }
  EXPECT_EQ(UnfoldedPath("f", "model.layers.0/weight"), "f/model.layers.0%2Fweight");
}

TEST(FileOfKeyTest, NamesTheFileOfAValue) {
  const auto base = store::MakeMemoryStore();
  IoContext io({.in_flight = 1});
  const std::string text = FileOf(Tensors());
  ASSERT_THAT(base->Write("run/m", std::as_bytes(std::span(text))), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet set, FileSet::Open(*base, "run/m", io));
  EXPECT_EQ(FileOfKey(set, "run/m/header"), "run/m");
  EXPECT_EQ(FileOfKey(set, "run/m/large/1"), "run/m");
  EXPECT_EQ(FileOfKey(set, "run/m"), "run/m");
  EXPECT_EQ(FileOfKey(set, "run/more/1"), "run/more/1");
}

}  // namespace
}  // namespace tessera::safetensors
