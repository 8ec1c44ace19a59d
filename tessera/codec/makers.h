// One maker per codec; bytes_codec.cc lists them.
#ifndef TESSERA_CODEC_MAKERS_H_
#define TESSERA_CODEC_MAKERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/spec.h"

namespace tessera::codec {

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeZstd(const ZstdSpec& spec);
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeDeflate(const DeflateSpec& spec);
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBz2(const Bz2Spec& spec);
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBlosc(const BloscSpec& spec);
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeCrc32c(const Crc32cSpec& spec);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_MAKERS_H_
