// The engine of a program that runs as one process: one rank, which never waits.
#ifndef TESSERA_COMM_ALONE_H_
#define TESSERA_COMM_ALONE_H_

#include <memory>

#include "tessera/comm/comm.h"

namespace tessera::comm {

std::unique_ptr<Comm> MakeAlone();

}  // namespace tessera::comm

#endif  // TESSERA_COMM_ALONE_H_
