#include "tessera/safetensors/file_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/testing/small_files.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/memory_store.h"
#include "tessera/store/wrappers.h"

namespace tessera::safetensors {
namespace {

using store::KvStore;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FileOf;
using ::testing::HasSubstr;
using testing::SmallTensor;

SmallTensor Floats(const std::string& name, int64_t count) {
  return {name, DType::kFloat32, {count}, std::string(static_cast<size_t>(count) * 4, 'x')};
}

class FileSetTest : public ::testing::Test {
 protected:
  void Put(std::string_view key, std::string_view text) {
    ASSERT_THAT(store_->Write(key, std::as_bytes(std::span(text))), IsOk());
  }
  absl::StatusOr<FileSet> Open(std::string_view name) { return FileSet::Open(*store_, name, io_); }
  std::vector<std::string> NamesOf(const FileSet& set) {
    std::vector<std::string> names;
    for (const TensorPlace& place : set.tensors()) {
      names.push_back(Concat(set.FileOf(place).name, ":", set.TensorOf(place).name));
    }
    return names;
  }

  const std::unique_ptr<KvStore> store_ = store::MakeMemoryStore();
  IoContext io_{{.in_flight = 4}};
};

TEST_F(FileSetTest, OpensOneFile) {
  Put("run/m.safetensors", FileOf({Floats("a", 2), {"b", DType::kInt8, {0, 3}, ""}}, {{"k", "v"}}));
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet set, Open("run/m.safetensors"));
  EXPECT_EQ(set.name(), "run/m.safetensors");
  EXPECT_THAT(NamesOf(set), ElementsAre("run/m.safetensors:a", "run/m.safetensors:b"));
  ASSERT_EQ(set.files().size(), 1u);
  const SetFile& file = set.files()[0];
  EXPECT_EQ(file.size, file.data_begin + 8);
  EXPECT_EQ(file.generation, store_->Read(file.name)->generation);
  EXPECT_EQ(file.header->metadata.size(), 1u);
  EXPECT_EQ(set.TensorOf(set.tensors()[0]), (Tensor{"a", DType::kFloat32, {2}, 0, 8}));
  EXPECT_EQ(set.index(), std::nullopt);
}

TEST_F(FileSetTest, AShortHeaderCostsOneRequestAndALongOneTwo) {
  std::vector<SmallTensor> many;
  for (int i = 0; i < 2000; ++i) many.push_back(Floats(Concat("tensor.", i), 1));
  Put("long", FileOf(many));
  Put("short", FileOf({Floats("a", 100'000)}));
  store::StoreCounts counts;
  const auto counted = store::MakeCountingStore(*store_, counts);
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet one, FileSet::Open(*counted, "short", io_));
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.bytes_read, 64 << 10);
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet two, FileSet::Open(*counted, "long", io_));
  EXPECT_EQ(counts.reads, 3);
  EXPECT_EQ(static_cast<uint64_t>(counts.bytes_read), (64u << 10) + two.files()[0].data_begin);
  EXPECT_EQ(two.tensors().size(), 2000u);
}

TEST_F(FileSetTest, OpensTheFilesOfAnIndexBesideIt) {
  Put("run/1", FileOf({Floats("b", 1), Floats("unmentioned", 1)}));
  Put("run/2", FileOf({Floats("a", 1), Floats("c", 3)}));
  Put("run/i.json", R"({"weight_map": {"c": "2", "b": "1", "a": "2"}})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet set, Open("run/i.json"));
  EXPECT_THAT(NamesOf(set), ElementsAre("run/2:c", "run/1:b", "run/2:a"));
  EXPECT_EQ(set.name(), "run/i.json");
  ASSERT_TRUE(set.index().has_value());
  EXPECT_EQ(set.index()->weight_map.size(), 3u);
}

TEST_F(FileSetTest, TheContentTellsAnIndexAndNotTheName) {
  Put("index.json", FileOf({Floats("a", 1)}));
  Put("x.safetensors", "\n {\"weight_map\": {\"a\": \"index.json\"}}");
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet file, Open("index.json"));
  EXPECT_EQ(file.index(), std::nullopt);
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet index, Open("x.safetensors"));
  EXPECT_THAT(NamesOf(index), ElementsAre("index.json:a"));
}

TEST_F(FileSetTest, ALongIndexIsReadWhole) {
  std::string map;
  std::vector<SmallTensor> tensors;
  for (int i = 0; i < 3000; ++i) {
    tensors.push_back(Floats(Concat("a.tensor.", i), 1));
    map += Concat(i == 0 ? "" : ", ", "\"a.tensor.", i, "\": \"file\"");
  }
  Put("file", FileOf(tensors));
  Put("index", Concat("{\"weight_map\": {", map, "}}"));
  ASSERT_GT(store_->Read("index")->size, 64u << 10);
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet set, Open("index"));
  EXPECT_EQ(set.tensors().size(), 3000u);
}

TEST_F(FileSetTest, NamesTensorAndFileThatAnIndexIsWrongAbout) {
  Put("1", FileOf({Floats("a", 1)}));
  Put("i", R"({"weight_map": {"a": "1", "b": "2"}})");
  EXPECT_THAT(Open("i"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("memory:i: tensor 'b' should be in '2', which is "
                                            "missing")));
  Put("2", FileOf({Floats("c", 1)}));
  EXPECT_THAT(Open("i"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("memory:i: tensor 'b' should be in '2', which does not "
                                            "hold it")));
  Put("2", "no header");
  EXPECT_THAT(Open("i"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory:2: ")));
}

TEST_F(FileSetTest, NamesTheFileThatIsNone) {
  EXPECT_THAT(Open("none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("memory:none: no such file")));
  Put("empty", "");
  EXPECT_THAT(Open("empty"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory:empty")));
  Put("text", "# notes on the model");
  EXPECT_THAT(Open("text"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory:text")));
  Put("json", R"({"a": 1})");
  EXPECT_THAT(Open("json"), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("memory:json"), HasSubstr("weight_map"))));
}

TEST_F(FileSetTest, EveryCutOfAFileIsRefused) {
  const std::string text = FileOf({Floats("a", 2), Floats("b", 1)});
  for (size_t size = 0; size < text.size(); ++size) {
    Put("cut", text.substr(0, size));
    const auto set = Open("cut");
    const bool header_is_whole = size >= text.size() - 12;
    EXPECT_THAT(set, StatusIs(header_is_whole ? absl::StatusCode::kDataLoss
                                              : absl::StatusCode::kInvalidArgument,
                              HasSubstr("memory:cut: ")))
        << size;
  }
}

// Replaces a value after it was first read.
class ReplacingStore final : public store::ForwardingStore {
 public:
  ReplacingStore(KvStore& base, std::string other) : ForwardingStore(base), other_(other) {}
  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    auto result = base().Read(key, range, stop);
    TESSERA_RETURN_IF_ERROR(base().Write(key, std::as_bytes(std::span(other_))));
    return result;
  }

 private:
  const std::string other_;
};

TEST_F(FileSetTest, AFileThatIsReplacedBetweenTwoRequestsIsNotMixed) {
  std::vector<SmallTensor> many;
  for (int i = 0; i < 2000; ++i) many.push_back(Floats(Concat("tensor.", i), 1));
  Put("long", FileOf(many));
  ReplacingStore replacing(*store_, FileOf(many));
  const auto aborted = StatusIs(absl::StatusCode::kAborted,
                                HasSubstr("memory:long: was replaced while it was read"));
  EXPECT_THAT(FileSet::Open(replacing, "long", io_), aborted);
  // First it is shorter than what is asked for, then longer.
  Put("long", FileOf({Floats("a", 1)}));
  EXPECT_THAT(FileSet::Open(replacing, "long", io_), aborted);
}

TEST_F(FileSetTest, OpensFilesWithoutAnIndex) {
  Put("1", FileOf({Floats("b", 1)}));
  Put("2", FileOf({Floats("a", 1), Floats("c", 3)}));
  const std::vector<std::string> names = {"1", "2"};
  TESSERA_ASSERT_OK_AND_ASSIGN(const FileSet set, FileSet::OpenFiles(*store_, names, io_));
  EXPECT_EQ(set.name(), "1");
  EXPECT_THAT(NamesOf(set), ElementsAre("1:b", "2:a", "2:c"));
  EXPECT_THAT(FileSet::OpenFiles(*store_, {}, io_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a file")));
  const std::vector<std::string> more = {"1", "3"};
  EXPECT_THAT(FileSet::OpenFiles(*store_, more, io_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("memory:3: no such file")));
  Put("3", FileOf({Floats("b", 2)}));
  EXPECT_THAT(FileSet::OpenFiles(*store_, more, io_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory:3: holds tensor 'b', and memory:1 does, too")));
}

}  // namespace
}  // namespace tessera::safetensors
