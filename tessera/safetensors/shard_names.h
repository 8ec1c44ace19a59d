// File names of a sharded safetensors set: stem-00001-of-00004.safetensors and its index.
#ifndef TESSERA_SAFETENSORS_SHARD_NAMES_H_
#define TESSERA_SAFETENSORS_SHARD_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera::safetensors {

// The stem: the path without ".safetensors.index.json", or else without ".safetensors" and then
// without one numbering of five digits or more.  Other text is its own stem.
std::string DeriveBasePrefixFromPath(std::string_view path);

// The name of shard `index` of `total`, both from 1 and padded to five digits.
// InvalidArgument unless 1 <= index <= total.
absl::StatusOr<std::string> ShardFilename(std::string_view base_prefix, int64_t index,
                                          int64_t total);

// The name of the set's index.
std::string IndexFilename(std::string_view base_prefix);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_SHARD_NAMES_H_
