#include "tessera/probe/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ProbeReport GoodReport() {
  ProbeReport report;
  report.path = "/data";
  report.file_system = {.type = "xfs",
                        .source = "/dev/sda1",
                        .options = "rw",
                        .free_bytes = 1000,
                        .total_bytes = 2000,
                        .free_files = 10,
                        .max_name = 255,
                        .case_sensitive = true,
                        .hard_links = true,
                        .symbolic_links = true,
                        .locks = true};
  report.renames = {
      .atomic = true, .noreplace = true, .exchange = true, .replaced = 9, .looks = 20};
  report.direct = {.works = true, .memory_alignment = 4, .offset_alignment = 512, .told = true};
  report.file_sync = {.median_ms = 0.5, .p95_ms = 1.25, .count = 10};
  report.folder_sync = {.median_ms = 0.25, .p95_ms = 0.5, .count = 10};
  report.reads = {{Way::kBuffered, 65536, 1, 1e9, 0.5},
                  {Way::kBuffered, 1 << 20, 16, 1.2e9, 1},
                  {Way::kCached, 1 << 20, 1, 9e9, 0.1},
                  {Way::kDirect, 1 << 20, 4, 1.5e9, 1}};
  report.writes = {{Way::kBuffered, 65536, 1, 5e8, 0.5}};
  return report;
}

TEST(AdviceTest, SaysNothingOfAStorageThatCanDoEverything) {
  EXPECT_THAT(Advice(GoodReport()), IsEmpty());
}

TEST(AdviceTest, TellsWhatMissingRenamesCost) {
  ProbeReport report = GoodReport();
  report.renames = {.seen = "3 of 8192 bytes"};
  EXPECT_THAT(Advice(report), ElementsAre(HasSubstr("not atomic here (3 of 8192 bytes)"),
                                          HasSubstr("RENAME_EXCHANGE is missing"),
                                          HasSubstr("RENAME_NOREPLACE is missing")));
}

TEST(AdviceTest, TellsOfSyncsThatTakeLongOrNoTimeAtAll) {
  ProbeReport report = GoodReport();
  report.file_sync.median_ms = 40;
  EXPECT_THAT(Advice(report), ElementsAre(HasSubstr("fsync takes 40 ms")));
  report.file_sync.median_ms = 0.001;
  EXPECT_THAT(Advice(report), ElementsAre(HasSubstr("fsync returns after 0.001 ms")));
  report.file_sync = {};
  EXPECT_THAT(Advice(report), IsEmpty());
}

TEST(AdviceTest, KnowsMemoryAndOtherMachines) {
  ProbeReport report = GoodReport();
  report.file_system.type = "tmpfs";
  report.file_sync.median_ms = 0.001;
  EXPECT_THAT(Advice(report), ElementsAre("This is memory (tmpfs): nothing here survives a "
                                          "restart."));
  report = GoodReport();
  report.file_system.type = "fuse.sshfs";
  EXPECT_THAT(Advice(report), ElementsAre(HasSubstr("shared with other machines")));
}

TEST(AdviceTest, TellsWhatNamesAndLocksCannotDo) {
  ProbeReport report = GoodReport();
  report.file_system.locks = false;
  report.file_system.case_sensitive = false;
  report.file_system.max_name = 143;
  EXPECT_THAT(Advice(report),
              ElementsAre(HasSubstr("flock does not exclude"), HasSubstr("differ in case only"),
                          HasSubstr("File names end at 143 bytes")));
}

TEST(AdviceTest, TellsWhetherMemoryAnsweredForTheDisk) {
  ProbeReport report = GoodReport();
  report.direct = {};
  report.reads[0].from_cache = true;
  EXPECT_THAT(Advice(report),
              ElementsAre(HasSubstr("O_DIRECT does not work"), HasSubstr("could not be emptied")));
}

TEST(AdviceTest, RecommendsThreadsAndBlocks) {
  ProbeReport report = GoodReport();
  report.reads = {{Way::kBuffered, 65536, 1, 1e8, 1},
                  {Way::kBuffered, 1 << 20, 1, 2e8, 1},
                  {Way::kBuffered, 1 << 20, 4, 9.5e8, 1},
                  {Way::kBuffered, 1 << 20, 16, 1e9, 1}};
  EXPECT_THAT(
      Advice(report),
      ElementsAre("4 threads read 5.0 times as fast as one: TESSERA_THREADS=4 or more is "
                  "worth it.",
                  "Blocks of 64 KiB read at 10 % of the best speed: large chunks pay off."));
}

TEST(ReportTest, HasTheFieldsThatScriptsReadFirst) {
  const OrderedJson json = ToJson(GoodReport());
  std::vector<std::string> fields;
  for (const auto& [name, value] : json.items()) fields.push_back(name);
  EXPECT_THAT(fields,
              ElementsAre("read", "write", "rename_atomic", "fsync_ms", "path", "file_system",
                          "rename", "direct", "fsync", "small_files", "memory", "size", "seconds",
                          "left_out", "removed", "kept", "advice"));
  EXPECT_EQ(json["rename_atomic"], true);
  EXPECT_EQ(json["fsync_ms"], 0.5);
  EXPECT_EQ(json["read"]["best_bytes_per_second"], 1.5e9);
  EXPECT_EQ(json["read"]["cached"][0].dump(),
            R"({"block_bytes":1048576,"threads":1,"bytes_per_second":9000000000.0,)"
            R"("request_ms":0.1})");
  EXPECT_EQ(json["direct"].dump(),
            R"({"works":true,"memory_alignment":4,"offset_alignment":512,"learned":"statx"})");
}

TEST(ReportTest, SaysWhatWasNotMeasured) {
  const OrderedJson json = ToJson({});
  EXPECT_EQ(json["fsync_ms"], nullptr);
  EXPECT_EQ(json["fsync"].dump(), R"({"file":null,"folder":null})");
  EXPECT_EQ(json["direct"].dump(), R"({"works":false})");
  EXPECT_EQ(json["read"].dump(), R"({"best_bytes_per_second":0.0})");
}

}  // namespace
}  // namespace tessera::probe
