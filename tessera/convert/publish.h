// Publish: what was staged becomes the destination in one step of the file system.
#ifndef TESSERA_CONVERT_PUBLISH_H_
#define TESSERA_CONVERT_PUBLISH_H_

#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::convert {

// A path and the names that a conversion gives to what lies beside it.
struct DestinationPath {
  std::string parent;  // absolute, without links
  std::string name;

  std::string path() const;
  // Where everything is written first.
  std::string staging() const;
};

// InvalidArgument for a path that is no name in a folder, such as "/" or "..".  Makes the folders
// that it lies in.
absl::StatusOr<DestinationPath> ResolveDestination(const std::string& path);

// Whether something is there, also a link that leads nowhere.
bool IsThere(const std::string& path);

// Moves `from` to `to`, on the same file system.  AlreadyExists when something is there and
// `overwrite` does not say to replace it; else the two change places, so that what was there lies
// at `from` afterwards.  FailedPrecondition, with everything as it was, where the file system
// cannot do that in one step.
absl::Status Publish(const std::string& from, const std::string& to, bool overwrite);

// Empties a folder that was replaced and is to be deleted, up to its index.  Who had begun to open
// it would find fewer and fewer arrays in it; so its index is none first, which is an error, and
// stays so until the rest is gone.  Nothing there: nothing done.
absl::Status BuryOld(const std::string& folder, std::stop_token stop = {});

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PUBLISH_H_
