#include "tessera/codec/bytes_codec.h"

#include "tessera/codec/makers.h"

namespace tessera::codec {
namespace {

// The table of all codecs from bytes to bytes.
struct Make {
  using Result = absl::StatusOr<std::unique_ptr<BytesCodec>>;
  Result operator()(const ZstdSpec& spec) const { return MakeZstd(spec); }
  Result operator()(const DeflateSpec& spec) const { return MakeDeflate(spec); }
  Result operator()(const Bz2Spec& spec) const { return MakeBz2(spec); }
  Result operator()(const BloscSpec& spec) const { return MakeBlosc(spec); }
  Result operator()(const Crc32cSpec& spec) const { return MakeCrc32c(spec); }
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBytesCodec(const BytesSpec& spec) {
  return std::visit(Make{}, spec);
}

}  // namespace tessera::codec
