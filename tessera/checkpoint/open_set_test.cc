#include "tessera/checkpoint/open_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/testing/stored_set.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::tessera::checkpoint::testing::kSetIndex;
using ::tessera::checkpoint::testing::StoredSet;
using ::tessera::checkpoint::testing::TwoFiles;
using ::tessera::checkpoint::testing::WriteText;
using ::tessera::testing::IsOk;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

std::vector<std::string> Names(const absl::StatusOr<Checkpoint>& checkpoint) {
  if (!checkpoint.ok()) return {checkpoint.status().ToString()};
  std::vector<std::string> names;
  for (const CheckpointArray& array : checkpoint->arrays()) names.push_back(array.name);
  return names;
}

class OpenSetTest : public ::testing::Test {
 protected:
  absl::StatusOr<Checkpoint> Open(store::KvStore& store, const OpenOptions& options = {}) {
    return Checkpoint::Open(store, io_, options);
  }
  // An index of one tensor in this file.
  std::string IndexOf(std::string_view file) {
    return Concat(R"({"weight_map": {"w": ")", file, R"("}})");
  }

  IoContext io_{{.in_flight = 2}};
};

TEST_F(OpenSetTest, KnowsTheTensorsOfAllFiles) {
  StoredSet set = TwoFiles();
  set.WriteFiles({{"format", "np"}}).WriteIndex(R"({"by": "hand", "format": "no", "n": 3})");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(set.store()));
  EXPECT_EQ(opened.format(), Format::kSafetensors);
  EXPECT_TRUE(opened.has_index());
  EXPECT_EQ(opened.integrity(), Integrity::kNone);
  EXPECT_EQ(opened.file_set()->name(), kSetIndex);
  EXPECT_THAT(Names(opened), ElementsAre("flags", "layers.0.w", "layers.1.w", "none"));
  EXPECT_THAT(opened.header_metadata(),
              ElementsAre(Pair("format", "np"), Pair("by", "hand"), Pair("n", "3")));
  const CheckpointArray& array = opened.arrays()[1];
  EXPECT_THAT(array.key, ElementsAre("layers", "0", "w"));
  EXPECT_EQ(array.path, "model-00001-of-00002.safetensors/layers.0.w");
  EXPECT_EQ(array.shape_dtype(), (ShapeDtype{{4, 6}, DType::kInt32}));
  EXPECT_EQ(array.chunk_shape(), (Dims{4, 6}));
  EXPECT_EQ(array.CodecText(), "none");
  EXPECT_EQ(array.stored_bytes(), 96);
}

TEST_F(OpenSetTest, APrefixIsWhatNamesBeginWith) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  EXPECT_THAT(Names(Open(set.store(), {.prefix = "layers"})), ElementsAre("0.w", "1.w"));
  EXPECT_THAT(Names(Open(set.store(), {.prefix = "layers.1"})), ElementsAre("w"));
  EXPECT_EQ(Names(Open(set.store(), {.prefix = "layers", .all_prefixes = true})).size(), 4);
  EXPECT_THAT(Open(set.store(), {.prefix = "layer"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("begins with 'layer.'")));
}

TEST_F(OpenSetTest, AFileMayBeNamed) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  EXPECT_THAT(Names(Open(set.store(), {.file = "model-00002-of-00002.safetensors"})),
              ElementsAre("layers.1.w", "none"));
  EXPECT_THAT(Open(set.store(), {.file = "other.safetensors"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("other.safetensors: no such file")));
}

TEST_F(OpenSetTest, FilesOfASeriesAreOneCheckpoint) {
  StoredSet set = TwoFiles();
  set.WriteFiles();
  EXPECT_THAT(Names(Open(set.store())), ElementsAre("layers.0.w", "flags", "layers.1.w", "none"));
}

TEST_F(OpenSetTest, AnOpenedSetIsTheSameUntilAFileIsReplaced) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(set.store()));
  EXPECT_THAT(opened.CheckUnchanged(), IsOk());
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint again, Open(set.store()));
  EXPECT_EQ(opened.state_id(), again.state_id());
  WriteText(set.store(), "model-00002-of-00002.safetensors",
            set.TextOf("model-00002-of-00002.safetensors", {{"now", "another"}}));
  EXPECT_THAT(opened.CheckUnchanged(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("model-00002-of-00002.safetensors")));
  EXPECT_NE(Open(set.store())->state_id(), opened.state_id());
}

TEST_F(OpenSetTest, ASealIsHeldAgainstHeadersAndIndex) {
  StoredSet set = TwoFiles();
  set.WriteFiles().WriteIndex();
  TESSERA_ASSERT_OK_AND_ASSIGN(const SealReport sealed, SealCheckpoint(set.store(), io_));
  EXPECT_THAT(sealed.sealed, ElementsAre(std::string(kSetIndex)));
  EXPECT_EQ(sealed.chunks, 3);
  EXPECT_EQ(sealed.bytes, 96 + 3 + 48);
  TESSERA_ASSERT_OK_AND_ASSIGN(const Checkpoint opened, Open(set.store()));
  EXPECT_EQ(opened.integrity(), Integrity::kSeal);
  EXPECT_EQ(opened.arrays()[0].manifest->chunks.size(), 1);
  const std::string second = "model-00002-of-00002.safetensors";
  WriteText(set.store(), second, set.TextOf(second, {{"now", "another"}}));
  EXPECT_THAT(Open(set.store()),
              StatusIs(kDataLoss, AllOf(HasSubstr(second), HasSubstr("its header"))));
  EXPECT_THAT(Open(set.store(), {.verify = false}), IsOk());
  set.WriteFiles().WriteIndex(R"({"now": "another"})");
  EXPECT_THAT(Open(set.store()), StatusIs(kDataLoss, HasSubstr(std::string(kSetIndex))));
}

TEST_F(OpenSetTest, NamesInAnIndexThatLeadOutAreRefused) {
  for (const char* file :
       {"../a.safetensors", "/etc/passwd", "..", ".", "", "a/b.safetensors", "a\\u0000"}) {
    SCOPED_TRACE(file);
    StoredSet set;
    WriteText(set.store(), kSetIndex, IndexOf(file));
    EXPECT_THAT(Open(set.store()),
                StatusIs(kInvalid, AllOf(HasSubstr(std::string(kSetIndex)), HasSubstr("'w'"))));
  }
}

TEST_F(OpenSetTest, AFileThatIsMissingOrLacksATensorIsNamed) {
  StoredSet set;
  set.Add("a.safetensors", "v", {2}).WriteFiles();
  WriteText(set.store(), kSetIndex, IndexOf("b.safetensors"));
  EXPECT_THAT(Open(set.store(), {.file = std::string(kSetIndex)}),
              StatusIs(kPrecondition,
                       HasSubstr("tensor 'w' should be in 'b.safetensors', which is missing")));
  WriteText(set.store(), kSetIndex, IndexOf("a.safetensors"));
  EXPECT_THAT(Open(set.store()), StatusIs(kPrecondition, HasSubstr("does not hold it")));
}

TEST_F(OpenSetTest, AFileThatIsNoSafetensorsFileIsNamed) {
  StoredSet set;
  WriteText(set.store(), kSetIndex, IndexOf("a.safetensors"));
  WriteText(set.store(), "a.safetensors", "PK\3\4 is what archives begin with");
  EXPECT_THAT(Open(set.store()), StatusIs(kInvalid, HasSubstr("a.safetensors")));
  WriteText(set.store(), "a.safetensors", "short");
  EXPECT_THAT(Open(set.store()), StatusIs(kInvalid, HasSubstr("a.safetensors")));
}

TEST_F(OpenSetTest, AFolderWithNothingIsNotFound) {
  const auto empty = store::MakeMemoryStore();
  EXPECT_THAT(Open(*empty),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no array and no safetensors file")));
}

class OpenAtTest : public OpenSetTest {
 protected:
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  absl::StatusOr<Checkpoint> OpenAt(const std::string& name = "") {
    return Checkpoint::OpenAt((folder_.path() / name).string(), io_);
  }

  const store::testing::TemporaryFolder folder_;
  StoredSet set_ = TwoFiles();
};

TEST_F(OpenAtTest, ALocationMayBeAFile) {
  const std::string second = "model-00002-of-00002.safetensors";
  Put("model-00001-of-00002.safetensors", set_.TextOf("model-00001-of-00002.safetensors"));
  Put(second, set_.TextOf(second));
  EXPECT_THAT(Names(OpenAt()), ElementsAre("layers.0.w", "flags", "layers.1.w", "none"));
  EXPECT_THAT(Names(OpenAt(second)), ElementsAre("layers.1.w", "none"));
  EXPECT_THAT(Names(Checkpoint::OpenAt(Concat("file://", (folder_.path() / second).string()), io_)),
              ElementsAre("layers.1.w", "none"));
  Put("any", set_.IndexText());
  EXPECT_EQ(Names(OpenAt("any")).size(), 4);
  Put("text", "not a safetensors file");
  EXPECT_THAT(OpenAt("text"), StatusIs(kInvalid, HasSubstr("/text")));
  EXPECT_THAT(OpenAt("missing"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/missing")));
}

TEST_F(OpenAtTest, LinksOutOfTheFolderAreRefused) {
  const store::testing::TemporaryFolder outside;
  std::ofstream(outside.path() / "secret", std::ios::binary)
      << set_.TextOf("model-00001-of-00002.safetensors");
  const auto leads_out = StatusIs(kInvalid, HasSubstr("leads out of the store"));
  fs::create_symlink(outside.path() / "secret", folder_.path() / "a.safetensors");
  EXPECT_THAT(OpenAt("a.safetensors"), leads_out);
  Put("i.json", R"({"weight_map": {"flags": "a.safetensors"}})");
  EXPECT_THAT(OpenAt(), leads_out);
}

}  // namespace
}  // namespace tessera::checkpoint
