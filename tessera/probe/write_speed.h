// How fast a storage writes.
#ifndef TESSERA_PROBE_WRITE_SPEED_H_
#define TESSERA_PROBE_WRITE_SPEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/movers.h"
#include "tessera/probe/scratch.h"

namespace tessera::probe {

// New files, one for each thread, synced in the end.  They take `size` bytes at most, and as much
// less as the storage turns out to be slow.
absl::StatusOr<Speeds> MeasureWrites(const Scratch& scratch, bool direct, int64_t size,
                                     Movers& movers, const Limits& limits);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_WRITE_SPEED_H_
