// What both versions of the format allow the codecs of a chunk to be.
//
// FORMAT.md, "Codecs" and "Shards".
#ifndef TESSERA_ZARR_CODEC_RULES_H_
#define TESSERA_ZARR_CODEC_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// More than this of any of the three, no writer makes, and each costs time for every chunk.
inline constexpr size_t kMaxCodecs = 32;  // in one list
inline constexpr int kMaxShardDepth = 8;  // shards within shards
inline constexpr int64_t kMaxShardChunks = int64_t{1} << 30;

// Whether the codecs fit the format, the chunk shape and the dtype.  InvalidArgument when they
// contradict one another, Unimplemented when the format cannot write them; both name the member.
// REQUIRES: every size in metadata.chunk_shape is positive.
absl::Status CheckCodecs(const Metadata& metadata);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_CODEC_RULES_H_
