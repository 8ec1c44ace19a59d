// The codec list of zarr v3.
//
// FORMAT.md, "Codecs" and "Shards".
#ifndef TESSERA_ZARR_CODEC_JSON_H_
#define TESSERA_ZARR_CODEC_JSON_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// What codecs work on.
struct Elements {
  size_t rank = 0;
  int bytes = 1;  // of one element
};

// Member `codecs`, or one of the lists inside of a shard's.  Looks at form and order only;
// codec_rules.h has the rest.
absl::StatusOr<ChunkCodecs> CodecsFromJson(const Json& value, const std::string& path,
                                           const Elements& elements);
Json CodecsToJson(const ChunkCodecs& codecs, int element_bytes);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_CODEC_JSON_H_
