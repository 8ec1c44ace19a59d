// MpiRequests: operations that MPI has begun and not yet completed.
//
// For sources of this room only.
#ifndef TESSERA_COMM_MPI_REQUESTS_H_
#define TESSERA_COMM_MPI_REQUESTS_H_

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tessera/comm/engine.h"

namespace tessera::comm {

class MpiRequests {
 public:
  static constexpr int kAllRanks = -1;

  // Adds what an MPI function with the result `code` began, with `peer` or with all ranks.
  // `request` was written by that function.
  absl::Status Add(int code, std::string_view function, MPI_Request request, int peer);

  // Begin the transfer of one piece, in blocks of at most `block` bytes.
  absl::Status AddSend(MPI_Comm comm, const Send& send, size_t block);
  absl::Status AddReceive(MPI_Comm comm, const Receive& receive, size_t block);
  absl::Status AddBroadcast(MPI_Comm comm, int root, std::span<std::byte> bytes, size_t block);

  // Looks at all of them once.  How many were completed since the last look.
  absl::StatusOr<int> Test();
  bool done() const { return open_ == 0; }

  // The ranks that something is still open with, sorted.
  std::vector<int> open_peers() const;

  // Asks MPI to forget the receives that nothing has come for.  They complete in a later Test.
  void CancelReceives();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
  std::vector<size_t> receives_;  // places of requests that can be cancelled
  size_t open_ = 0;
  std::vector<int> completed_;  // room for the answers of MPI
  std::vector<MPI_Status> statuses_;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_MPI_REQUESTS_H_
