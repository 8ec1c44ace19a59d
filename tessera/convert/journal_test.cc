#include "tessera/convert/journal.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

using ::tessera::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JournalTest : public ::testing::Test {
 protected:
  std::string Path() const { return (folder_.path() / "0").string(); }

  void Append(std::string_view text) {
    std::ofstream file(Path(), std::ios::app | std::ios::binary);
    file << text;
  }

  store::testing::TemporaryFolder folder_;
  const JournalEntry first_{1, 2, {{1, 7, {5, {10, 11}}}, {1, 8, {6, {12, 13}}}}};
  const JournalEntry second_{3, 0, {}};
};

TEST_F(JournalTest, TellsWhatWasAppendedAndWhen) {
  for (const JournalEntry& entry : {first_, second_}) {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(Path()));
    EXPECT_THAT(journal->Append(entry), IsOk());
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const JournalContent content, ReadJournal(Path()));
  EXPECT_EQ(content.boot, BootId());
  EXPECT_THAT(content.entries, ElementsAre(first_, second_));
}

TEST_F(JournalTest, LeavesOutALineThatWasCutShort) {
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(Path()));
    EXPECT_THAT(journal->Append(first_), IsOk());
  }
  Append("0123456789abcdef0123456789abcdef 4 1 7 5 0000");
  {
    TESSERA_ASSERT_OK_AND_ASSIGN(const auto journal, Journal::Open(Path()));
    EXPECT_THAT(journal->Append(second_), IsOk());
  }
  TESSERA_ASSERT_OK_AND_ASSIGN(const JournalContent content, ReadJournal(Path()));
  EXPECT_THAT(content.entries, ElementsAre(first_, second_));
}

TEST_F(JournalTest, HasNothingWithoutAFile) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const JournalContent content, ReadJournal(Path()));
  EXPECT_EQ(content.boot, "");
  EXPECT_THAT(content.entries, IsEmpty());
}

}  // namespace
}  // namespace tessera::convert
