#include <bzlib.h>

#include "tessera/codec/makers.h"
#include "tessera/codec/stream_codec.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

class Bzip2 {
 public:
  using Stream = bz_stream;

  explicit Bzip2(const Bz2Spec& spec) : spec_(spec) {}

  std::string_view name() const { return "bz2"; }

  // The library's manual: 1 % and 600 bytes more hold the result of any data.
  size_t MostEncoded(size_t decoded) const { return decoded + decoded / 100 + 601; }

  bool StartEncoder(bz_stream& stream) const {
    return BZ2_bzCompressInit(&stream, spec_.level, 0, 0) == BZ_OK;
  }
  StreamStep Encode(bz_stream& stream, bool last) const {
    return StepOf(BZ2_bzCompress(&stream, last ? BZ_FINISH : BZ_RUN));
  }
  static void EndEncoder(bz_stream* stream) { BZ2_bzCompressEnd(stream); }

  bool StartDecoder(bz_stream& stream) const {
    return BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK;
  }
  StreamStep Decode(bz_stream& stream) const { return StepOf(BZ2_bzDecompress(&stream)); }
  static void EndDecoder(bz_stream* stream) { BZ2_bzDecompressEnd(stream); }
  // Four bytes for each one of the largest block, and tables.
  static size_t DecoderBytes() { return size_t{3'700'000}; }

 private:
  static StreamStep StepOf(int result) {
    if (result == BZ_STREAM_END) return StreamStep::kEnd;
    return result < 0 ? StreamStep::kError : StreamStep::kMore;
  }

  Bz2Spec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBz2(const Bz2Spec& spec) {
  if (spec.level < 1 || spec.level > 9) {
    return InvalidArgument("bz2: level ", spec.level, "; expected 1 to 9");
  }
  return std::make_unique<StreamCodec<Bzip2>>(Bzip2(spec));
}

}  // namespace tessera::codec
