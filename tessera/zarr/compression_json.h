// Codecs from bytes to bytes as each version of the format writes them, and what it allows.
//
// FORMAT.md, "Codecs".
#ifndef TESSERA_ZARR_COMPRESSION_JSON_H_
#define TESSERA_ZARR_COMPRESSION_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"
#include "tessera/core/json.h"
#include "tessera/zarr/json_members.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// Member `compressor` of v2: null, or one object with `id`; options may be left out.
// `element_bytes` is what blosc shuffles.
absl::StatusOr<std::vector<codec::BytesSpec>> CompressorFromJson(const Json& value,
                                                                 int element_bytes);
Json CompressorToJson(const std::vector<codec::BytesSpec>& compression);

// Whether `name` is one of v3's codecs from bytes to bytes.
bool IsCompressionName(std::string_view name);

// One codec of v3.  REQUIRES: IsCompressionName(named.name).
absl::StatusOr<codec::BytesSpec> CompressionFromJson(const NamedJson& named);
Json CompressionToJson(const codec::BytesSpec& spec);

// Unimplemented when an option is out of its range or `format` cannot write the codec.  `path` is
// of the object that holds the options.
absl::Status CheckCompression(Format format, const codec::BytesSpec& spec, const std::string& path);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_COMPRESSION_JSON_H_
