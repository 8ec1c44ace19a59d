// How renaming behaves: what commits and conversions rely on.
#ifndef TESSERA_PROBE_RENAMES_H_
#define TESSERA_PROBE_RENAMES_H_

#include "absl/status/statusor.h"
#include "tessera/probe/limits.h"
#include "tessera/probe/report.h"
#include "tessera/probe/scratch.h"

namespace tessera::probe {

// Replaces a file, the way the file store does, over and over until the limits are over, while a
// thread reads it; and tries the two conditional renames.
absl::StatusOr<Renames> TryRenames(const Scratch& scratch, const Limits& limits);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_RENAMES_H_
