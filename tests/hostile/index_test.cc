// Checkpoints whose own files lie: every use of them ends with an error that names the file and the
// field, in bounded time and memory, and nothing outside of the folder is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/testing/stored_checkpoint.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/status.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/testing/temporary_folder.h"
#include "tests/crash/states.h"

namespace tessera::crash {
namespace {

namespace fs = std::filesystem;
using Tree = array::ValueTree;
using ::tessera::testing::IsOk;
using ::tessera::testing::kInvalid;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::string FileText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A checkpoint two folders deep, with files of others around it.
class HostileTest : public ::testing::Test {
 protected:
  HostileTest() {
    fs::create_directories(inside_);
    std::ofstream(folder_.path() / "victim") << "precious";
    fs::create_directories(folder_.path() / "etc/w");
    std::ofstream(folder_.path() / "etc/w/.zarray") << "precious";
    TESSERA_CHECK(
        checkpoint::Save(Tree::MakeDict({{"w", Numbers({4, 2}, 1)}})).To(path_).Run().ok());
  }

  // What is around the checkpoint.
  std::map<std::string, std::string> Outside() const {
    std::map<std::string, std::string> files;
    for (auto entry = fs::recursive_directory_iterator(folder_.path()); entry != end(entry);
         ++entry) {
      if (entry->path() == inside_) entry.disable_recursion_pending();
      files[entry->path().string()] = entry->is_regular_file() ? FileText(entry->path()) : "";
    }
    return files;
  }

  void Put(const std::string& key, const std::string& text) {
    fs::create_directories((inside_ / key).parent_path());
    std::ofstream(inside_ / key, std::ios::binary) << text;
  }
  void PutIndex(const std::string& text) { Put("tensorstore_index.json", text); }
  void PutRecord(const std::string& record) {
    PutIndex(Concat(R"({"format": "tensorstore", "version": "1.0", "arrays": [)", record, "]}"));
  }
  // An array without a manifest, which the index lists as it is.
  void PutArray(const std::string& shape, const std::string& chunks, const std::string& dtype) {
    fs::remove_all(inside_ / ".tessera");
    Put("w/.zarray", Concat(R"({"zarr_format": 2, "shape": )", shape, R"(, "chunks": )", chunks,
                            R"(, "dtype": ")", dtype,
                            R"(", "compressor": null, "fill_value": null, "order": "C", )",
                            R"("filters": null, "dimension_separator": "."})"));
    PutRecord(Concat(R"({"path": "w", "shape": )", shape, R"(, "dtype": "int32"})"));
  }

  absl::Status Load() {
    TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({.count = 1}));
    TESSERA_ASSIGN_OR_RETURN(const auto opened, checkpoint::Checkpoint::OpenAt(path_, io_));
    return checkpoint::LoadCheckpoint(opened, {}, {io_, *platform}).status();
  }
  absl::Status Seal() {
    TESSERA_ASSIGN_OR_RETURN(const auto store, checkpoint::OpenForSave(path_));
    return checkpoint::SealCheckpoint(*store, io_).status();
  }
  std::string Problems() {
    const auto store = checkpoint::OpenForSave(path_);
    return store.ok() ? ProblemsOf(**store, io_) : store.status().ToString();
  }
  absl::Status SaveFurther() {
    return checkpoint::Save(Tree::MakeDict({{"v", Numbers({3}, 5)}}))
        .To(path_)
        .Prefix("further")
        .Run()
        .status();
  }
  absl::Status SaveOver() {
    return checkpoint::Save(Tree::MakeDict({{"w", Numbers({3}, 5)}})).To(path_).Run().status();
  }

  const store::testing::TemporaryFolder folder_;
  const fs::path inside_ = folder_.path() / "runs" / "checkpoint";
  const std::string path_ = inside_.string();
  IoContext io_{{.in_flight = 2, .budget_bytes = 16 << 20}};
};

struct Lie {
  std::string record;
  absl::StatusCode code;
  std::string message;
};

TEST_F(HostileTest, PathsThatLeadOutsideAreRefused) {
  const auto before = Outside();
  for (const char* path : {"../../etc/w", "/etc/w", "w/../../../victim", "..", "a//b", "a/./b",
                           "..\\\\..\\\\etc", "\\u0000", ".tessera/manifests", "w.__lock", ""}) {
    SCOPED_TRACE(path);
    fs::remove_all(inside_);
    PutRecord(Concat(R"({"path": ")", path, R"(", "shape": [4, 2], "dtype": "int32"})"));
    for (const absl::Status& status : {Load(), Seal()}) {
      EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("path")));
      EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr(path_ + "/tensorstore_index.json")));
    }
    EXPECT_THAT(Problems(), HasSubstr("tensorstore_index.json"));
    EXPECT_EQ(Outside(), before);
  }
}

// What is saved over is deleted, but never outside.
TEST_F(HostileTest, PathsThatLeadOutsideAreNotCleanedUp) {
  const auto before = Outside();
  for (const std::string path : {"../../etc/w", "/etc/w", "w/../../../etc", "..", "."}) {
    SCOPED_TRACE(path);
    fs::remove_all(inside_);
    Put("mine", "precious");
    PutRecord(Concat(R"({"path": ")", path, R"(", "shape": [4, 2], "dtype": "int32"})"));
    if (path == ".") {
      EXPECT_THAT(SaveFurther(), StatusIs(kInvalid, HasSubstr("paths collide: 'further/v'")));
    } else {
      // Lists of others are kept as they are.
      EXPECT_THAT(SaveFurther(), IsOk());
    }
    EXPECT_THAT(SaveOver(), IsOk());
    EXPECT_THAT(Load(), IsOk());
    EXPECT_EQ(Outside(), before);
    EXPECT_EQ(FileText(inside_ / "mine"), "precious");
  }
}

TEST_F(HostileTest, FieldsThatCannotBeAreNamed) {
  const std::vector<Lie> lies = {
      {R"({"path": "w", "shape": [-1, 2], "dtype": "int32"})", kInvalid, "shape"},
      {R"({"path": "w", "shape": [1e300], "dtype": "int32"})", kInvalid, "shape"},
      {R"({"path": "w", "shape": "big", "dtype": "int32"})", kInvalid, "shape"},
      {R"({"path": "w", "shape": [4, 2], "dtype": 7})", kInvalid, "dtype"},
      {R"({"path": 7, "shape": [4, 2], "dtype": "int32"})", kInvalid, "path"},
      {R"({"shape": [4, 2], "dtype": "int32"})", kInvalid, "path"},
      {R"({"path": "w", "shape": [4, 2], "dtype": "float1024"})",
       absl::StatusCode::kFailedPrecondition, "float1024"},
      {R"({"path": "w", "shape": [4611686018427387904, 4611686018427387904], "dtype": "int32"})",
       absl::StatusCode::kFailedPrecondition, "4611686018427387904"},
  };
  fs::remove_all(inside_ / ".tessera");
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.record);
    PutRecord(lie.record);
    EXPECT_THAT(Load(), StatusIs(lie.code, HasSubstr(lie.message)));
    EXPECT_THAT(Load(), StatusIs(lie.code, HasSubstr(path_)));
    EXPECT_THAT(Problems(), HasSubstr(lie.message));
  }
}

TEST_F(HostileTest, ArraysThatAreTooLargeForAnyMemoryAreRefused) {
  const std::vector<Lie> lies = {
      {"[4611686018427387904, 4611686018427387904]", kInvalid, "shape"},
      {"[1152921504606846976]", absl::StatusCode::kResourceExhausted, "w"},
      {"[1099511627776]", absl::StatusCode::kResourceExhausted, "w"},
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.record);
    PutArray(lie.record, lie.record, "<i4");
    EXPECT_THAT(Load(), StatusIs(lie.code, HasSubstr(lie.message)));
    EXPECT_THAT(Problems(), HasSubstr("w"));
  }
  PutArray("[4, 2]", "[4, 2]", "<f128");
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kUnimplemented,
                               HasSubstr(path_ + "/w/.zarray: dtype: element type '<f128'")));
}

TEST_F(HostileTest, OurOwnMemberOfTheIndexIsNotTrusted) {
  const auto before = Outside();
  const std::string index = FileText(inside_ / "tensorstore_index.json");
  const size_t at = index.find(".tessera/manifests/");
  ASSERT_NE(at, std::string::npos);
  const std::string own = index.substr(at, index.find('"', at) - at);
  for (const char* manifest : {"../../victim", "/etc/passwd", "w/.zarray", ".tessera/../../x"}) {
    SCOPED_TRACE(manifest);
    std::string changed = index;
    changed.replace(at, own.size(), manifest);
    PutIndex(changed);
    EXPECT_THAT(Load(), StatusIs(kInvalid, HasSubstr(manifest)));
    EXPECT_THAT(Problems(), HasSubstr(manifest));
    EXPECT_EQ(Outside(), before);
  }
}

TEST_F(HostileTest, ALinkThatLeadsOutsideIsNotFollowed) {
  fs::create_directories(folder_.path() / "elsewhere/v");
  const auto before = Outside();
  fs::create_directory_symlink(folder_.path() / "elsewhere", inside_ / "further");
  EXPECT_THAT(SaveFurther(), StatusIs(kInvalid, HasSubstr(path_ + "/further")));
  EXPECT_EQ(Outside(), before);
  EXPECT_THAT(Load(), IsOk());
}

TEST_F(HostileTest, AMillionEntriesTakeBoundedTimeAndMemory) {
  fs::remove_all(inside_ / ".tessera");
  constexpr int kEntries = 1'000'000;
  std::string text = R"({"format": "tensorstore", "version": "1.0", "arrays": [)";
  for (int i = 0; i < kEntries; ++i) {
    text += Concat(i == 0 ? "" : ",\n", R"({"path": "a)", i, R"(/w", "shape": [4], )",
                   R"("dtype": "int32"})");
  }
  PutIndex(text + "]}");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/w/.zarray")));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 240);
  rusage usage;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  // In KiB; sanitizers take several times what is needed.
  EXPECT_LT(usage.ru_maxrss, int64_t{8} << 20);
  std::printf("%.1f s, at most %ld MiB\n", seconds.count(), usage.ru_maxrss >> 10);
}

}  // namespace
}  // namespace tessera::crash
