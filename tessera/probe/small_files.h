// The cost of files as such: syncs, and making, asking, renaming and deleting small ones.
#ifndef TESSERA_PROBE_SMALL_FILES_H_
#define TESSERA_PROBE_SMALL_FILES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/report.h"
#include "tessera/probe/scratch.h"

namespace tessera::probe {

// By the nearest rank.  `milliseconds` may be in any order.
Latency LatencyOf(std::vector<double> milliseconds);

// Each at least once, then until the limits are over.  Where a folder cannot be synced, its count
// is 0.
absl::StatusOr<Latency> MeasureFileSync(const Scratch& scratch, const Limits& limits);
absl::StatusOr<Latency> MeasureFolderSync(const Scratch& scratch, const Limits& limits);

absl::StatusOr<SmallFiles> MeasureSmallFiles(const Scratch& scratch, const Limits& limits);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_SMALL_FILES_H_
