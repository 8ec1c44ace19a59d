// Ranks that are threads of one process: for tests, and for work that has no other processes.
#ifndef TESSERA_COMM_THREADS_H_
#define TESSERA_COMM_THREADS_H_

#include <functional>

#include "absl/status/status.h"
#include "tessera/comm/comm.h"

namespace tessera::comm {

// Runs `body` on `ranks` threads, each with a Comm of its own, and waits for all.  A rank that
// returns an error aborts, and one that returns early leaves, so the others learn of it in the
// call that they wait in.  OK when every rank's result is; else the first error that came, behind
// its rank's number.  InvalidArgument when `ranks` is less than 1.
absl::Status RunRanks(int ranks, const std::function<absl::Status(Comm&)>& body);

}  // namespace tessera::comm

#endif  // TESSERA_COMM_THREADS_H_
