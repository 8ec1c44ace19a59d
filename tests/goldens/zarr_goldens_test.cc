// Every zarr array of the golden sets, read by us: type, shape and hash of its elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "tessera/core/sha256.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"
#include "tests/goldens/golden_sets.h"

namespace tessera::goldens {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::IsOkAndHolds;

class ZarrGoldensTest : public ::testing::TestWithParam<GoldenSet> {};

// Hash of the elements as they are asked for: all at once.
absl::StatusOr<std::string> HashWhole(const zarr::Array& array, IoContext& io) {
  const ShapeDtype about = array.shape_dtype();
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about.dtype, about.shape));
  std::vector<std::byte> memory(bytes);
  TESSERA_RETURN_IF_ERROR(
      array.Read(Box::Whole(about.shape),
                 RowMajorView(memory.data(), about.shape, DTypeBytes(about.dtype)), io));
  return Sha256Text(memory);
}

// The same hash, row by row of the first dimension: boxes that do not follow the chunks.
absl::StatusOr<std::string> HashByRows(const zarr::Array& array, IoContext& io) {
  const ShapeDtype about = array.shape_dtype();
  if (about.shape.empty()) return HashWhole(array, io);
  Dims row = about.shape;
  row[0] = 1;
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about.dtype, row));
  std::vector<std::byte> memory(bytes);
  Sha256 hash;
  Dims origin(row.size(), 0);
  for (; origin[0] < about.shape[0]; ++origin[0]) {
    TESSERA_ASSIGN_OR_RETURN(const Box box, Box::Make(origin, row));
    TESSERA_RETURN_IF_ERROR(
        array.Read(box, RowMajorView(memory.data(), row, DTypeBytes(about.dtype)), io));
    hash.Update(memory);
  }
  return HexText(hash.Finish());
}

TEST_P(ZarrGoldensTest, EveryArrayHasTheRecordedHash) {
  const GoldenSet& set = GetParam();
  TESSERA_ASSERT_OK_AND_ASSIGN(auto store, store::OpenFileStore(set.checkpoint));
  IoContext io({.budget_bytes = 64 << 20});
  for (const auto& [key, expected] : set.arrays) {
    SCOPED_TRACE(key);
    const auto array = zarr::Array::Open(*store, key);
    ASSERT_THAT(array, IsOk());
    EXPECT_EQ(array->shape_dtype(), expected.array);
    EXPECT_THAT(HashWhole(*array, io), IsOkAndHolds(expected.sha256));
    EXPECT_THAT(HashByRows(*array, io), IsOkAndHolds(expected.sha256));
  }
  std::printf("%s: %zu arrays\n", set.name.c_str(), set.arrays.size());
}

// What TensorStore wrote is what we would have written.
TEST_P(ZarrGoldensTest, MetadataIsWrittenAsItWasFound) {
  TESSERA_ASSERT_OK_AND_ASSIGN(auto store, store::OpenFileStore(GetParam().checkpoint));
  for (const auto& [key, expected] : GetParam().arrays) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const zarr::Array array, zarr::Array::Open(*store, key));
    const std::string name = key + "/" + std::string(MetadataName(array.metadata().format));
    TESSERA_ASSERT_OK_AND_ASSIGN(const store::ReadResult found, store->Read(name));
    EXPECT_EQ(MetadataText(array.metadata()), found.value->text());
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ZarrGoldensTest,
                         ::testing::ValuesIn(FindSets({"zarr2-", "zarr3-", "jax-zarr"})),
                         [](const auto& info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.name;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace tessera::goldens
