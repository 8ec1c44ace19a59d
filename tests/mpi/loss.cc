// Loses its last rank between two barriers; every other rank prints what its second barrier says.
#include <csignal>
#include <cstdio>

#include "tessera/comm/mpi.h"

int main() {
  const auto session = tessera::comm::MpiSession::Open().value();
  const auto comm = tessera::comm::OpenMpi(*session).value();
  if (!comm->Barrier().ok()) return 1;
  if (comm->rank() == comm->size() - 1) std::raise(SIGKILL);
  const absl::Status status = comm->Barrier({.timeout = std::chrono::seconds(2)});
  std::printf("%s\n", status.ToString().c_str());
  std::fflush(stdout);
}
