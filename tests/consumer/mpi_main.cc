// A program outside the tree that uses the MPI engine of an installed tessera.
#include <cstdio>

#include "tessera/comm/mpi.h"

int main() {
  const auto session = tessera::comm::MpiSession::Open();
  if (!session.ok()) return 1;
  const auto comm = tessera::comm::OpenMpi(**session);
  if (!comm.ok() || !(*comm)->Barrier().ok()) return 1;
  std::printf("rank %d of %d\n", (*comm)->rank(), (*comm)->size());
}
