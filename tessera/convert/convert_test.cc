#include "tessera/convert/convert.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/convert/testing/folders.h"
#include "tessera/core/testing/status_matchers.h"
#include "tessera/store/testing/temporary_folder.h"

namespace tessera::convert {
namespace {

using ::tessera::convert::testing::ArraySpec;
using ::tessera::convert::testing::ContentOf;
using ::tessera::convert::testing::SomeElements;
using ::tessera::convert::testing::ZarrFolder;
using ::tessera::testing::IsOk;
using ::tessera::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Content = std::map<std::string, std::string>;

class ConvertTest : public ::testing::Test {
 protected:
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }

  absl::StatusOr<ConvertReport> Run(const std::string& source, const std::string& destination,
                                    const ConvertRequest& request, std::stop_token stop = {}) {
    return Convert(source, destination, request, {.io = io_}, nullptr, std::move(stop));
  }

  // What lies in the folder of the test, by name.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<std::string> Problems(const std::string& path) {
    const auto store = store::OpenFileStore(path, {.create_root = false});
    const auto report = checkpoint::VerifyCheckpoint(**store, io_);
    if (!report.ok()) return {report.status().ToString()};
    std::vector<std::string> problems;
    for (const auto& problem : report->problems) {
      problems.push_back(problem.key + " " + problem.file + ": " + problem.problem);
    }
    if (report->unsealed_arrays > 0) problems.push_back("not sealed");
    return problems;
  }

  store::testing::TemporaryFolder folder_;
  IoContext io_{{.in_flight = 4, .budget_bytes = int64_t{64} << 20}};
};

ConvertRequest To(TargetFormat format) { return {.target = {.format = format}}; }

TEST_F(ConvertTest, MakesACheckpointOfAFolderOfArrays) {
  ZarrFolder source(Path("source"));
  source.Add({"a/kernel", {{64, 48}, DType::kFloat32}, {16, 48}})
      .Add({"a/bias", {{48}, DType::kBfloat16}, {48}})
      .Add({"step", {{}, DType::kInt64}, {}})
      .Add({"none", {{0, 4}, DType::kUint8}, {1, 4}});
  ConvertRequest request = To(TargetFormat::kTensorstore);
  request.target.prefix = "model";
  TESSERA_ASSERT_OK_AND_ASSIGN(const ConvertReport report,
                               Run(source.path(), Path("made"), request));
  EXPECT_EQ(report.arrays, 4);
  EXPECT_EQ(report.nbytes, 64 * 48 * 4 + 96 + 8);
  EXPECT_EQ(report.copied_arrays, 4);
  EXPECT_EQ(report.resumed_arrays, 0);
  EXPECT_THAT(Names(), ElementsAre("made", "source"));
  Content expected;
  for (const auto& [key, hash] : ContentOf(source.path(), io_)) expected["model." + key] = hash;
  EXPECT_EQ(ContentOf(Path("made"), io_), expected);
  EXPECT_THAT(Problems(Path("made")), IsEmpty());
}

}  // namespace
}  // namespace tessera::convert
