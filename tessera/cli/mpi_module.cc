// libtessera_mpi.so: what the program loads when mpirun has started it.
#include "tessera/cli/mpi_ranks.h"
#include "tessera/comm/mpi.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

absl::StatusOr<Ranks> Open() {
  TESSERA_ASSIGN_OR_RETURN(std::shared_ptr<comm::MpiSession> session, comm::MpiSession::Open());
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<comm::Comm> comm, comm::OpenMpi(*session));
  return Ranks{std::move(session), std::move(comm)};
}

}  // namespace
}  // namespace tessera::cli

extern "C" {

__attribute__((visibility("default"))) const char* tessera_mpi_version() { return TESSERA_VERSION; }

__attribute__((visibility("default"))) void tessera_mpi_open(
    absl::StatusOr<tessera::cli::Ranks>* result) {
  *result = tessera::cli::Open();
}
}
