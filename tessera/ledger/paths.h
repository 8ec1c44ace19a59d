// Paths from files: whether they stay inside the checkpoint, and whether they get in each other's
// way.
#ifndef TESSERA_LEDGER_PATHS_H_
#define TESSERA_LEDGER_PATHS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace tessera::ledger {

// InvalidArgument, "unsafe path ...", for a file's path that is empty, absolute, has ".", ".." or
// nothing between two slashes, a NUL, or the name of a lock file.
absl::Status CheckSafeFile(std::string_view path);

// The same for an array's, which may be "." and may not lie among tessera's own files.
absl::Status CheckSafeArray(std::string_view path);

// Two places among paths, of which one is, or lies inside, the other.
struct Collision {
  size_t outer;
  size_t inner;
};

// The first path, in the order of names, that lies inside another; "." holds every path.  The same
// path twice is none.
std::optional<Collision> FindNested(std::span<const std::string_view> paths);

// The first path of `ours` that is, or lies inside, one of `theirs`, or the other way round.
struct Encounter {
  size_t ours;
  size_t theirs;
};
std::optional<Encounter> FindEncounter(std::span<const std::string_view> ours,
                                       std::span<const std::string_view> theirs);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PATHS_H_
