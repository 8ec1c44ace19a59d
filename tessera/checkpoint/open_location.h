// Where a checkpoint is, as people write it: a path or a URL, of a folder or of a file in it.
#ifndef TESSERA_CHECKPOINT_OPEN_LOCATION_H_
#define TESSERA_CHECKPOINT_OPEN_LOCATION_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// The folder that `location` means: a path, a file:// URL, or either of them followed by the name
// of the index file.  InvalidArgument for a URL that is malformed or names another host;
// Unimplemented, naming the scheme, for other URLs.
absl::StatusOr<std::string> FolderOf(std::string_view location);

struct Location {
  std::shared_ptr<store::KvStore> store;  // the folder, for reading
  std::string file = {};                  // in it; empty: the folder itself is meant
};

// What is there: a folder, or a file and the folder that it lies in.  NotFound when there is
// neither.  Links lead about inside of that folder; in the cache of Hugging Face, whose snapshots
// are links to blobs, inside of the model's part of the cache.
absl::StatusOr<Location> OpenLocation(std::string_view location);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_OPEN_LOCATION_H_
