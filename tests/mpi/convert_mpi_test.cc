// A conversion by several processes, run by mpirun with four ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tessera/comm/testing/mpi_main.h"
#include "tessera/convert/convert.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

namespace fs = std::filesystem;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::Gt;
using ::testing::HasSubstr;

// The bytes of every file below a folder, by path.
std::map<std::string, std::string> FilesOf(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

class ConvertMpiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TESSERA_ASSERT_OK_AND_ASSIGN(comm_, comm::OpenMpi(comm::testing::TestSession()));
    ASSERT_EQ(comm_->size(), 4);
    std::string mine;
    if (first()) mine = folder_.emplace().path().string();
    TESSERA_ASSERT_OK_AND_ASSIGN(const Bytes path, comm_->Broadcast(Bytes::CopyOf(mine), 0));
    path_ = path.text();
    if (first()) MakeSource();
    ASSERT_THAT(comm_->Barrier(), IsOk());
  }
  // Nobody may still use the folder when rank 0 deletes it.
  void TearDown() override { EXPECT_THAT(comm_->Barrier(), IsOk()); }

  bool first() const { return comm_->rank() == 0; }
  std::string Path(std::string_view name) const { return Concat(path_, "/", name); }

  void MakeSource() const {
    testing::ZarrFolder source(Path("source"));
    source.Add({"large", {{1500, 1000}, DType::kFloat32}, {100, 1000}})
        .Add({"columns", {{1000, 1000}, DType::kBfloat16}, {1000, 50}});
    for (int i = 0; i < 20; ++i) {
      source.Add({Concat("small", i), {{30 + i, 7}, DType::kInt16}, {10, 7}});
    }
  }

  absl::StatusOr<ConvertReport> Run(std::string_view made, const ConvertRequest& request,
                                    comm::Comm* comm, std::stop_token stop = {},
                                    const ConvertListener& listener = nullptr) {
    return Convert(Path("source"), Path(made), request, {.io = io_, .comm = comm}, listener,
                   std::move(stop));
  }

  IoContext io_{{.in_flight = 2, .budget_bytes = int64_t{8} << 20}};
  std::unique_ptr<comm::Comm> comm_;
  std::optional<store::testing::TemporaryFolder> folder_;  // of rank 0
  std::string path_;
};

ConvertRequest Sharded() {
  ConvertRequest request;
  request.target.shard_bytes = int64_t{3} << 20;
  request.transposes = {{"columns"}};
  return request;
}

TEST_F(ConvertMpiTest, FourRanksMakeTheFilesThatOneMakes) {
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report, Run("four", Sharded(), comm_.get()));
  EXPECT_EQ(report.arrays, 22);
  EXPECT_THAT(report.plan, HasSubstr("ranks 0="));
  if (!first()) return;
  ASSERT_THAT(Run("one", Sharded(), nullptr), IsOk());
  const auto four = FilesOf(Path("four"));
  EXPECT_THAT(four.size(), Gt(3u));
  EXPECT_TRUE(four == FilesOf(Path("one")));
}

TEST_F(ConvertMpiTest, WhatFourRanksBeganOneRankEnds) {
  std::stop_source stop;
  const ConvertListener listener = [&](const ConvertProgress& progress) {
    if (comm_->rank() == 3 && progress.arrays_done > 2) stop.request_stop();
  };
  ConvertRequest request;
  request.target.format = TargetFormat::kTensorstore;
  EXPECT_THAT(Run("made", request, comm_.get(), stop.get_token(), listener),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
  ASSERT_THAT(comm_->Barrier(), IsOk());
  if (!first()) return;
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report, Run("made", request, nullptr));
  EXPECT_THAT(report.resumed_arrays, Gt(0));
  EXPECT_EQ(testing::ContentOf(Path("made"), io_), testing::ContentOf(Path("source"), io_));
}

TEST_F(ConvertMpiTest, TheErrorOfOneIsTheErrorOfAll) {
  ConvertRequest request;
  request.match = first() ? "small" : "(";
  EXPECT_THAT(Run("made", request, comm_.get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("match: pattern '('")));
  request.match = first() ? "small" : "large";
  EXPECT_THAT(Run("made", request, comm_.get()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("would convert something else than rank 0")));
}

}  // namespace
}  // namespace tessera::convert
