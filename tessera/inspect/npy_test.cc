#include "tessera/inspect/npy.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/inspect/testing/opened.h"

namespace tessera::inspect {
namespace {

using ::tessera::inspect::testing::BytesOf;
using ::tessera::inspect::testing::Opened;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WriteNpyTest : public ::testing::Test {
 protected:
  WriteNpyTest() : folder_(std::filesystem::path(::testing::TempDir()) / "write_npy_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~WriteNpyTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return (folder_ / "a.npy").string(); }
  std::string Contents() const {
    std::ifstream file(Path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::filesystem::path folder_;
};

std::string TextOf(const std::vector<int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

TEST(NpyHeaderTest, IsWhatNumPyWrites) {
  const std::string header = NpyHeader(DType::kFloat32, Dims{2, 3});
  EXPECT_EQ(header.size(), 128U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00v\x00", 10));
  EXPECT_THAT(header.substr(10),
              StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } "));
  EXPECT_THAT(header, EndsWith(" \n"));
  EXPECT_THAT(NpyHeader(DType::kBool, Dims{7}),
              HasSubstr("'|b1', 'fortran_order': False, 'shape': (7,), }"));
  EXPECT_THAT(NpyHeader(DType::kBfloat16, Dims{}),
              HasSubstr("'<V2', 'fortran_order': False, 'shape': (), }"));
  EXPECT_EQ(NpyHeader(DType::kInt8, Dims(kMaxRank, 1)).size() % 64, 0U);
}

TEST(NpyHeaderTest, KnowsWhichTypesNumPyLacks) {
  EXPECT_TRUE(NpyKnows(DType::kComplex128));
  EXPECT_FALSE(NpyKnows(DType::kFloat8E4m3fn));
  EXPECT_FALSE(NpyKnows(DType::kUint4));
  EXPECT_EQ(NpyDescr(DType::kUint4), "<V1");
}

TEST_F(WriteNpyTest, WritesASelectionInBlocksOfRows) {
  const auto values = array::testing::Iota(64 * 32);
  for (const int64_t budget : {1 << 13, 1 << 15, 1 << 30}) {
    Opened opened({{"a", {{64, 32}, DType::kInt32}, {5, 7}, BytesOf(values)}},
                  {.budget_bytes = budget});
    int64_t bytes = 0;
    ASSERT_THAT(
        WriteNpy(opened.checkpoint(), opened.array(), *ParseSlice("::-2,3:", Dims{64, 32}), Path(),
                 {.overwrite = true, .on_bytes = [&](int64_t more) { bytes += more; }},
                 opened.io()),
        IsOk());
    std::vector<int32_t> expected;
    for (int i = 63; i >= 0; i -= 2) {
      for (int j = 3; j < 32; ++j) expected.push_back(i * 32 + j);
    }
    EXPECT_EQ(Contents(), NpyHeader(DType::kInt32, Dims{32, 29}) + TextOf(expected)) << budget;
    EXPECT_EQ(bytes, 32 * 29 * 4);
  }
  EXPECT_EQ(Files(), 1U);
}

TEST_F(WriteNpyTest, WritesScalarsAndEmptyArrays) {
  Opened opened({{"a", {{0, 4}, DType::kInt32}, {1, 4}, {}},
                 {"b", {{}, DType::kInt32}, {}, BytesOf(std::vector<int32_t>{42})}});
  ASSERT_THAT(WriteNpy(opened.checkpoint(), opened.array(0), SelectAll(Dims{0, 4}), Path(), {},
                       opened.io()),
              IsOk());
  EXPECT_EQ(Contents(), NpyHeader(DType::kInt32, Dims{0, 4}));
  ASSERT_THAT(WriteNpy(opened.checkpoint(), opened.array(1), SelectAll(Dims{}), Path(),
                       {.overwrite = true}, opened.io()),
              IsOk());
  EXPECT_EQ(Contents(), NpyHeader(DType::kInt32, Dims{}) + TextOf({42}));
}

TEST_F(WriteNpyTest, LeavesAFileThatIsThere) {
  Opened opened({{"a", {{1}, DType::kInt32}, {1}, BytesOf(std::vector<int32_t>{42})}});
  std::ofstream(Path()) << "mine";
  EXPECT_THAT(
      WriteNpy(opened.checkpoint(), opened.array(), SelectAll(Dims{1}), Path(), {}, opened.io()),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("a.npy: there is a file already")));
  EXPECT_EQ(Contents(), "mine");
}

TEST_F(WriteNpyTest, LeavesTheOldFileWhenAChunkIsDamaged) {
  Opened opened({{"a", {{2}, DType::kInt32}, {1}, BytesOf(std::vector<int32_t>{1, 2})}});
  ASSERT_THAT(opened.store().Write("a/1", Bytes::CopyOf("short").span()), IsOk());
  std::ofstream(Path()) << "mine";
  EXPECT_THAT(WriteNpy(opened.checkpoint(), opened.array(), SelectAll(Dims{2}), Path(),
                       {.overwrite = true}, opened.io()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a/1")));
  EXPECT_EQ(Contents(), "mine");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(WriteNpyTest, NamesAPlaceThatTakesNoFile) {
  Opened opened({{"a", {{1}, DType::kInt32}, {1}, BytesOf(std::vector<int32_t>{42})}});
  const auto write = [&](const std::string& path) {
    return WriteNpy(opened.checkpoint(), opened.array(), SelectAll(Dims{1}), path,
                    {.overwrite = true}, opened.io());
  };
  EXPECT_THAT(write(folder_.string() + "/none/a.npy"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/a.npy")));
  EXPECT_THAT(write(folder_.string()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("something that is no file")));
  EXPECT_THAT(write(folder_.string() + "/"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the path of a file")));
}

}  // namespace
}  // namespace tessera::inspect
