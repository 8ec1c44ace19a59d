// Memory of the host, under the names that devices have for it.
#ifndef TESSERA_DEVICE_HOST_MEMORY_H_
#define TESSERA_DEVICE_HOST_MEMORY_H_

#include "tessera/core/host_memory.h"

namespace tessera::device {

using ::tessera::AllocateHostMemory;
using ::tessera::kHostAlignment;
using ::tessera::kHugePageBytes;

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_HOST_MEMORY_H_
