// How fast this machine copies memory, beside which a storage can be judged.
#ifndef TESSERA_PROBE_MEMORY_SPEED_H_
#define TESSERA_PROBE_MEMORY_SPEED_H_

#include "tessera/probe/limits.h"
#include "tessera/probe/report.h"

namespace tessera::probe {

MemorySpeed MeasureMemory(const Limits& limits);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_MEMORY_SPEED_H_
