// The main() of test binaries that mpirun starts with several ranks.
//
// Every rank runs every test.  Rank 0 writes the report; any other rank prints only its failures,
// with its number, and a failure on any rank fails the run.
#ifndef TESSERA_COMM_TESTING_MPI_MAIN_H_
#define TESSERA_COMM_TESTING_MPI_MAIN_H_

#include "tessera/comm/mpi.h"

namespace tessera::comm::testing {

// The session that main() has opened.
MpiSession& TestSession();

}  // namespace tessera::comm::testing

#endif  // TESSERA_COMM_TESTING_MPI_MAIN_H_
