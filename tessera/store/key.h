// Keys of a store: names separated by '/', none of which can lead out of the store's root.
#ifndef TESSERA_STORE_KEY_H_
#define TESSERA_STORE_KEY_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace tessera::store {

// A file whose name holds this is a write that has not ended; no key may.
inline constexpr std::string_view kTemporaryMark = ".tessera-tmp-";

// InvalidArgument quoting the key unless it is one or more names separated by '/', each of 1 to 255
// bytes without NUL, none of them "." or ".." and none holding kTemporaryMark.  So a key cannot be
// absolute, end in '/' or leave the root.
absl::Status ValidateKey(std::string_view key);

// A prefix is empty, or what a key may begin with: the names before its last '/' are as in keys.
absl::Status ValidatePrefix(std::string_view prefix);

// The names before the last '/', without it, and the last name.
std::pair<std::string_view, std::string_view> SplitKey(std::string_view key);

// What KvStore::MovePrefix asks of its prefixes; InvalidArgument quoting them.
absl::Status ValidateMove(std::string_view from, std::string_view to);

}  // namespace tessera::store

#endif  // TESSERA_STORE_KEY_H_
