// Scratch: the folder that a probe works in, gone when it ends.
//
// Its name is `.tessera-doctor-` and six characters.  Who uses it holds a flock on it, so that a
// later run can tell one that is in use from one that a killed run has left.
#ifndef TESSERA_PROBE_SCRATCH_H_
#define TESSERA_PROBE_SCRATCH_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/store/file_handle.h"

namespace tessera::probe {

inline constexpr std::string_view kScratchStart = ".tessera-doctor-";

class Scratch {
 public:
  // Below the folder `parent`.  NotFound when there is none, InvalidArgument when it is no folder,
  // PermissionDenied when nothing can be made in it.
  static absl::StatusOr<Scratch> Make(const std::string& parent);

  Scratch(Scratch&& other) noexcept
      : path_(std::exchange(other.path_, {})), folder_(std::move(other.folder_)) {}
  Scratch& operator=(Scratch&&) = delete;
  // Deletes the folder as far as possible.
  ~Scratch();

  // Deletes the folder, and says so if that fails.
  absl::Status Remove();

  const std::string& path() const { return path_; }
  std::string Path(std::string_view name) const;
  const store::FileHandle& folder() const { return folder_; }

 private:
  Scratch(std::string path, store::FileHandle folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;  // empty: removed
  store::FileHandle folder_;
};

struct Leftovers {
  std::vector<std::string> removed;  // paths
  std::vector<std::string> kept;     // in use, or not ours to delete
};

// Deletes what killed runs have left in `parent`.
Leftovers RemoveLeftovers(const std::string& parent);

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_SCRATCH_H_
