// How fast a storage reads.
#ifndef TESSERA_PROBE_READ_SPEED_H_
#define TESSERA_PROBE_READ_SPEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/movers.h"
#include "tessera/probe/scratch.h"

namespace tessera::probe {

// Parts of one file of at most `size` bytes, one for each thread.  The file is as large as can be
// written in a third of the time at `write_speed`.
absl::StatusOr<Speeds> MeasureReads(const Scratch& scratch, bool direct, int64_t size,
                                    double write_speed, Movers& movers, const Limits& limits);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_READ_SPEED_H_
