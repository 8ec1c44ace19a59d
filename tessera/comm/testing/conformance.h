// What every engine must do.  An engine's test registers itself:
//
//   INSTANTIATE_TEST_SUITE_P(Threads, CommConformance,
//                            ::testing::Values(EngineMaker{"four", [](const RankBody& body) {
//                              return RunRanks(4, body);
//                            }}),
//                            EngineName);
#ifndef TESSERA_COMM_TESTING_CONFORMANCE_H_
#define TESSERA_COMM_TESTING_CONFORMANCE_H_

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tessera/comm/comm.h"

namespace tessera::comm::testing {

using RankBody = std::function<absl::Status(Comm&)>;

struct EngineMaker {
  std::string name;
  // Runs the body on every rank of this process, each with a fresh Comm of the same size.
  std::function<absl::Status(const RankBody&)> run;
};

inline std::string EngineName(const ::testing::TestParamInfo<EngineMaker>& info) {
  return info.param.name;
}

class CommConformance : public ::testing::TestWithParam<EngineMaker> {
 protected:
  // Runs the body on every rank, which checks for itself.
  void OnEveryRank(const std::function<void(Comm&)>& body) {
    const absl::Status status = GetParam().run([&](Comm& comm) {
      body(comm);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
};

// How calls fail: deadlines, aborts, ranks that leave.
class CommFailureConformance : public CommConformance {};

}  // namespace tessera::comm::testing

#endif  // TESSERA_COMM_TESTING_CONFORMANCE_H_
