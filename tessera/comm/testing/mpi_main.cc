#include "tessera/comm/testing/mpi_main.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "tessera/core/status.h"

namespace tessera::comm::testing {
namespace {

MpiSession* test_session = nullptr;  // lives in RunTests

class FailurePrinter final : public ::testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, result.file_name(), result.line_number(),
                 result.message());
  }

 private:
  const int rank_;
};

void PrintFailuresOnly(int rank) {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  delete listeners.Release(listeners.default_xml_generator());
  listeners.Append(new FailurePrinter(rank));
}

int RunTests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto session = MpiSession::Open();
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", session.status().ToString().c_str());
    return 1;
  }
  test_session = session->get();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) PrintFailuresOnly(rank);
  return RUN_ALL_TESTS();
}

}  // namespace

MpiSession& TestSession() {
  TESSERA_CHECK(test_session != nullptr);
  return *test_session;
}

}  // namespace tessera::comm::testing

int main(int argc, char** argv) { return tessera::comm::testing::RunTests(argc, argv); }
