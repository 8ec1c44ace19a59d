// Ranks that are processes started by mpirun, on one host or many.
//
// In target tessera_comm_mpi, which is there when tessera was built with TESSERA_WITH_MPI.
#ifndef TESSERA_COMM_MPI_H_
#define TESSERA_COMM_MPI_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"

namespace tessera::comm {

struct MpiState;

// MPI being in use.  A program makes one, on its main thread, before anything else of MPI, and
// destroys it there, last.
class MpiSession {
 public:
  // Initialises MPI for use by several threads, or joins a host program that has initialised it
  // itself.  Every rank calls it.
  static absl::StatusOr<std::unique_ptr<MpiSession>> Open();

  // Finalises MPI if it initialised it.  A plain end waits for the other ranks, as MPI does.  When
  // a Comm was broken it waits a few seconds at most, and if a rank does not come, or MPI still
  // holds memory of a call that failed, it leaves MPI as it is; mpirun then ends the program.
  ~MpiSession();

  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

 private:
  friend absl::StatusOr<std::unique_ptr<Comm>> OpenMpi(MpiSession& session,
                                                       const struct MpiOptions& options);
  explicit MpiSession(std::shared_ptr<MpiState> state) : state_(std::move(state)) {}

  std::shared_ptr<MpiState> state_;
};

struct MpiOptions {
  // MPI counts a message in an int, so what is larger goes in blocks of this many bytes.  The same
  // on every rank.
  int64_t block_bytes = int64_t{1} << 30;
  // When a call has failed: how long to listen for the other ranks, to tell who is missing.
  std::chrono::nanoseconds grace = std::chrono::milliseconds(500);
  // How long the end of a Comm waits for the other ranks to end theirs.
  std::chrono::nanoseconds close_timeout = std::chrono::seconds(10);
  // MPI_Comm_c2f of the communicator whose ranks take part; all ranks of the program unless given.
  std::optional<int> parent = {};
};

// A Comm on a communicator of its own.  Every rank of the parent calls it, with no limit in time.
//
// The host program's level of thread support holds: below MPI_THREAD_SERIALIZED only the main
// thread may make calls, below MPI_THREAD_MULTIPLE no two threads may use MPI at the same time.
//
// A call that failed while data moved may leave MPI with memory of the caller that it cannot be
// made to give back.  Then every Comm of the session refuses to work, since any use of MPI could
// touch that memory; the program should end.  A wait for a rank that never comes is not such a
// case: data moves only when all are there.
absl::StatusOr<std::unique_ptr<Comm>> OpenMpi(MpiSession& session, const MpiOptions& options = {});

}  // namespace tessera::comm

#endif  // TESSERA_COMM_MPI_H_
