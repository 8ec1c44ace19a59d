// Codecs as people write them: "zstd:3", "blosc-lz4:5", "zstd+crc32c", "none".
#ifndef TESSERA_CODEC_PARSE_SPECS_H_
#define TESSERA_CODEC_PARSE_SPECS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"

namespace tessera::codec {

// The names that ParseSpecs takes, without levels and compressors of blosc.
std::vector<std::string_view> SpecNames();

// Codecs in the order of encoding, with a plus between them: none, zstd, gzip, zlib, bz2, blosc or
// crc32c, and a level behind a colon.  "blosc-zstd" is blosc with another compressor than lz4.
// InvalidArgument, with what was probably meant, for other names and for levels that the codec does
// not have.
absl::StatusOr<std::vector<BytesSpec>> ParseSpecs(std::string_view text);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_PARSE_SPECS_H_
