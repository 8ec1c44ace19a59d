#include <zlib.h>

#include "tessera/codec/makers.h"
#include "tessera/codec/stream_codec.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

class Zlib {
 public:
  using Stream = z_stream;

  explicit Zlib(const DeflateSpec& spec) : spec_(spec) {}

  std::string_view name() const { return is_gzip() ? "gzip" : "zlib"; }

  size_t MostEncoded(size_t decoded) const {
    // Without a stream the library reckons with the smallest settings and zlib's wrapping.
    constexpr size_t kGzipOverZlib = 12;
    return deflateBound(nullptr, decoded) + kGzipOverZlib;
  }

  bool StartEncoder(z_stream& stream) const {
    constexpr int kMemoryLevel = 8;  // zlib's own default
    return deflateInit2(&stream, spec_.level, Z_DEFLATED, WindowBits(), kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  }
  StreamStep Encode(z_stream& stream, bool last) const {
    return StepOf(deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH));
  }
  static void EndEncoder(z_stream* stream) { deflateEnd(stream); }

  bool StartDecoder(z_stream& stream) const { return inflateInit2(&stream, WindowBits()) == Z_OK; }
  StreamStep Decode(z_stream& stream) const { return StepOf(inflate(&stream, Z_NO_FLUSH)); }
  static void EndDecoder(z_stream* stream) { inflateEnd(stream); }
  // A window of 32 KiB, and tables.
  static size_t DecoderBytes() { return size_t{48} << 10; }

 private:
  bool is_gzip() const { return spec_.wrapping == DeflateSpec::Wrapping::kGzip; }
  int WindowBits() const {
    constexpr int kWindow = 15;
    constexpr int kGzip = 16;
    return is_gzip() ? kWindow + kGzip : kWindow;
  }
  static StreamStep StepOf(int result) {
    if (result == Z_STREAM_END) return StreamStep::kEnd;
    // Z_BUF_ERROR: nothing could be done with what there was; more room or data will tell.
    if (result == Z_OK || result == Z_BUF_ERROR) return StreamStep::kMore;
    return StreamStep::kError;
  }

  DeflateSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeDeflate(const DeflateSpec& spec) {
  if (spec.level < 0 || spec.level > 9) {
    return InvalidArgument(Zlib(spec).name(), ": level ", spec.level, "; expected 0 to 9");
  }
  return std::make_unique<StreamCodec<Zlib>>(Zlib(spec));
}

}  // namespace tessera::codec
