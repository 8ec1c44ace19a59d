// The safetensors files of every golden set: their headers tell what is expected, and are written
// again byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/plan_set.h"
#include "tests/goldens/golden_sets.h"

namespace tessera::goldens {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOkAndHolds;
using ::testing::Eq;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> FilesOf(const GoldenSet& set, std::string_view suffix) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(set.checkpoint)) {
    if (entry.path().filename().string().ends_with(suffix)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<safetensors::Header> HeaderOf(const std::string& file) {
  TESSERA_ASSIGN_OR_RETURN(const uint64_t length, safetensors::DecodeHeaderLength(
                                                      std::as_bytes(std::span(file)), file.size()));
  const uint64_t data = safetensors::kLengthBytes + length;
  return safetensors::DecodeHeader(std::string_view(file).substr(safetensors::kLengthBytes, length),
                                   file.size() - data);
}

uint64_t DataBytes(const safetensors::Header& header) {
  return header.tensors.empty() ? 0 : header.tensors.back().end;
}

class SafetensorsGoldensTest : public ::testing::TestWithParam<GoldenSet> {};

TEST_P(SafetensorsGoldensTest, HeadersTellWhatIsExpected) {
  std::map<std::string, ShapeDtype> found;
  for (const fs::path& path : FilesOf(GetParam(), ".safetensors")) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto header, HeaderOf(TextOf(path)));
    for (const auto& tensor : header.tensors) found[tensor.name] = {tensor.shape, tensor.dtype};
  }
  std::map<std::string, ShapeDtype> expected;
  for (const auto& [name, array] : GetParam().arrays) expected[name] = array.array;
  EXPECT_EQ(found, expected);
}

TEST_P(SafetensorsGoldensTest, HeadersAreWrittenAgainByteForByte) {
  for (const fs::path& path : FilesOf(GetParam(), ".safetensors")) {
    SCOPED_TRACE(path);
    const std::string file = TextOf(path);
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto header, HeaderOf(file));
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string encoded, safetensors::EncodeHeader(header));
    EXPECT_EQ(encoded, file.substr(0, encoded.size()));
    EXPECT_EQ(file.size() - encoded.size(), DataBytes(header));
  }
}

// The order of the reference, found again from nothing but names, shapes and dtypes.
TEST_P(SafetensorsGoldensTest, PlansLayTensorsAsTheReferenceDid) {
  for (const fs::path& path : FilesOf(GetParam(), ".safetensors")) {
    SCOPED_TRACE(path);
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto header, HeaderOf(TextOf(path)));
    std::vector<safetensors::NewTensor> tensors;
    for (const auto& tensor : header.tensors) {
      tensors.push_back({tensor.name, {tensor.shape, tensor.dtype}});
    }
    std::reverse(tensors.begin(), tensors.end());
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto plan, safetensors::PlanSet(tensors, {}));
    EXPECT_EQ(plan.files[0].header.tensors, header.tensors);
  }
}

TEST_P(SafetensorsGoldensTest, IndexesNameTheTensorsOfEachFile) {
  for (const fs::path& path : FilesOf(GetParam(), ".safetensors.index.json")) {
    SCOPED_TRACE(path);
    const std::string text = TextOf(path);
    EXPECT_TRUE(safetensors::LooksLikeIndexFile(text));
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto index, safetensors::DecodeIndexFile(text));
    uint64_t bytes = 0;
    std::map<std::string, std::string> found;
    for (const fs::path& shard : FilesOf(GetParam(), ".safetensors")) {
      TESSERA_ASSERT_OK_AND_ASSIGN(const auto header, HeaderOf(TextOf(shard)));
      for (const auto& tensor : header.tensors) found[tensor.name] = shard.filename();
      bytes += DataBytes(header);
    }
    EXPECT_EQ(
        (std::map<std::string, std::string>(index.weight_map.begin(), index.weight_map.end())),
        found);
    // eformer writes none.
    EXPECT_EQ(index.total_size.value_or(static_cast<int64_t>(bytes)), static_cast<int64_t>(bytes));
    TESSERA_ASSERT_OK_AND_ASSIGN(const std::string written, safetensors::EncodeIndexFile(index));
    auto sorted = index;
    std::sort(sorted.weight_map.begin(), sorted.weight_map.end());
    EXPECT_THAT(safetensors::DecodeIndexFile(written), IsOkAndHolds(Eq(sorted)));
  }
}

std::string NameOf(const ::testing::TestParamInfo<GoldenSet>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Safetensors, SafetensorsGoldensTest,
                         ::testing::ValuesIn(FindSets({"safetensors-"})), NameOf);

}  // namespace
}  // namespace tessera::goldens
