// The ranks that mpirun started this program as.
//
// The program links no MPI: one that runs alone must start where none is installed.  What speaks
// MPI is a module of its own, libtessera_mpi.so, which is loaded when mpirun has started several.
// It holds a copy of what it needs of our code and shares no symbol with the program: only values
// and objects with virtual functions cross the border, both sides come from one build, and the
// version is compared before anything else.  So the program exports no symbols for it, which would
// make it larger and slower to start.
#ifndef TESSERA_CLI_MPI_RANKS_H_
#define TESSERA_CLI_MPI_RANKS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"

namespace tessera::cli {

struct Ranks {
  std::shared_ptr<void> session = nullptr;     // ends MPI; after the comm, on the main thread
  std::unique_ptr<comm::Comm> comm = nullptr;  // nullptr: alone
};

// What the environment says of who started this process.
struct Launch {
  int size = 1;  // 0: there may be others, and only MPI can tell
  int rank = 0;
};
Launch LaunchOfEnvironment();

// All ranks.  FailedPrecondition, with where it was looked for, when there are others and the
// module is missing or of another version: N processes that all do everything are never right.
absl::StatusOr<Ranks> OpenRanks(const Launch& launch);

// What the module exports.
inline constexpr char kMpiVersionSymbol[] = "tessera_mpi_version";
inline constexpr char kMpiOpenSymbol[] = "tessera_mpi_open";
using MpiVersionFunction = const char*();
using MpiOpenFunction = void(absl::StatusOr<Ranks>* result);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_MPI_RANKS_H_
