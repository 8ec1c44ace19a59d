// The files that eformer keeps beside its arrays, in every golden set that it wrote: they decode,
// and putting a list back into an index changes nothing but our own member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/metadata_file.h"
#include "tests/goldens/golden_sets.h"

namespace tessera::goldens {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::testing::StartsWith;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Calls `check` with every file of that name in a set; returns how many there are.
int ForEachFile(const GoldenSet& set, std::string_view name,
                const std::function<void(const std::string&)>& check) {
  int found = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(set.checkpoint)) {
    if (entry.path().filename() != name) continue;
    SCOPED_TRACE(entry.path());
    check(TextOf(entry.path()));
    ++found;
  }
  return found;
}

void CheckUnchangedBy(const ledger::IndexChange& change, const std::string& text) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const std::string applied, ledger::ApplyIndexChange(text, change));
  ASSERT_TRUE(text.ends_with("\n}"));
  EXPECT_THAT(applied, StartsWith(text.substr(0, text.size() - 2) + ",\n  \"tessera\": {"));
  EXPECT_THAT(ledger::ApplyIndexChange(applied, change), tessera::testing::IsOkAndHolds(applied));
}

class LedgerGoldensTest : public ::testing::TestWithParam<GoldenSet> {};

TEST_P(LedgerGoldensTest, AListPutBackChangesNothing) {
  const int found = ForEachFile(GetParam(), ledger::kIndexName, [](const std::string& text) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto index, ledger::DecodeIndexFile(text));
    ASSERT_TRUE(index.prefixes.has_value());
    for (const auto& [prefix, records] : *index.prefixes) {
      EXPECT_THAT(ledger::CheckRecords(records), IsOk());
      CheckUnchangedBy({prefix, records, {}, {}}, text);
    }
    if (!index.arrays.has_value()) return;
    EXPECT_THAT(ledger::CheckRecords(*index.arrays), IsOk());
    CheckUnchangedBy({"", *index.arrays, {}, {}}, text);
  });
  EXPECT_GE(found, 1);
}

TEST_P(LedgerGoldensTest, MetadataDecodes) {
  ForEachFile(GetParam(), ledger::kCheckpointMetadataName, [](const std::string& text) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto metadata, ledger::DecodeCheckpointMetadata(text));
    EXPECT_THAT(ledger::ParseTimestamp(metadata.timestamp), IsOk());
    EXPECT_THAT(ledger::DecodeCheckpointMetadata(*ledger::EncodeCheckpointMetadata(metadata)),
                tessera::testing::IsOkAndHolds(metadata));
  });
  ForEachFile(GetParam(), ledger::kRunMetadataName, [](const std::string& text) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto metadata, ledger::DecodeRunMetadata(text));
    EXPECT_EQ(*ledger::EncodeRunMetadata(metadata), text);
  });
}

std::string NameOf(const ::testing::TestParamInfo<GoldenSet>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Eformer, LedgerGoldensTest, ::testing::ValuesIn(FindSets({"eformer-"})),
                         NameOf);

}  // namespace
}  // namespace tessera::goldens
