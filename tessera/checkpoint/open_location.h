// Where a checkpoint is, as people write it: a path, a URL, or the path of its index file.
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

// The store in that folder, for reading.  NotFound when there is no such folder.
absl::StatusOr<std::unique_ptr<store::KvStore>> OpenLocation(std::string_view location);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_OPEN_LOCATION_H_
