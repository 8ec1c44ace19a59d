// How the components of a key path become a path in the store.
//
// Each component turns into one file name: "%XX" stands for the characters % / \ . and for control
// characters, "%-" for the empty component; the names are joined with "/".  So every list of
// components has a path of its own, no path is absolute or leads out of the directory, and no name
// starts with the dot of the stores' own files.  The leaf at the root, without components, has
// the empty path.
#ifndef TESSERA_TREE_STORED_PATH_H_
#define TESSERA_TREE_STORED_PATH_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::tree {

// The longest file name that common file systems take, in bytes.
inline constexpr size_t kMaxStoredName = 255;

// InvalidArgument for a component that is not UTF-8 or gets a name over kMaxStoredName.
absl::StatusOr<std::string> EncodeStoredPath(std::span<const std::string> components);

// The components that EncodeStoredPath makes `path` of.  DataLoss for every other path.
absl::StatusOr<std::vector<std::string>> DecodeStoredPath(std::string_view path);

// The components of a path that a foreign writer stored: what stands between the slashes, with no
// escapes.
std::vector<std::string> SplitLegacyPath(std::string_view path);

// InvalidArgument, naming both leaves, when two have the same path or one's path lies inside
// another's.  leaf(i), for messages, is the key path of paths[i].
absl::Status CheckUniquePaths(std::span<const std::string_view> paths,
                              absl::FunctionRef<std::string(size_t)> leaf);
absl::Status CheckUniquePaths(std::span<const std::string> paths,
                              std::span<const std::string> leaves);

}  // namespace tessera::tree

#endif  // TESSERA_TREE_STORED_PATH_H_
