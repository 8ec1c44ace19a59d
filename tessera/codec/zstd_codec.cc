#include <zstd.h>

#include <utility>

#include "tessera/codec/growing_buffer.h"
#include "tessera/codec/makers.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// A context holds tables that cost more than a small chunk; each thread keeps its own.
ZSTD_CCtx& ThreadCompressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  TESSERA_CHECK(context != nullptr);
  return *context;
}
ZSTD_DCtx& ThreadDecompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  TESSERA_CHECK(context != nullptr);
  return *context;
}

class ZstdCodec final : public BytesCodec {
 public:
  explicit ZstdCodec(const ZstdSpec& spec) : spec_(spec) {}

  std::string_view name() const override { return "zstd"; }

  absl::StatusOr<std::vector<std::byte>> Encode(std::span<const std::byte> data) const override {
    ZSTD_CCtx& context = ThreadCompressor();
    ZSTD_CCtx_reset(&context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_compressionLevel, spec_.level);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_checksumFlag, spec_.checksum ? 1 : 0);
    std::vector<std::byte> encoded(ZSTD_compressBound(data.size()));
    const size_t size =
        ZSTD_compress2(&context, encoded.data(), encoded.size(), data.data(), data.size());
    if (ZSTD_isError(size)) return Internal("zstd: ", ZSTD_getErrorName(size));
    encoded.resize(size);
    return encoded;
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    const uint64_t declared = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
    if (declared == ZSTD_CONTENTSIZE_ERROR) return DataLoss("zstd: the data has no frame header");
    if (declared != ZSTD_CONTENTSIZE_UNKNOWN && declared != target.size()) {
      return DataLoss("zstd: the frame holds ", declared, " bytes, expected ", target.size());
    }
    TESSERA_RETURN_IF_ERROR(CheckOneFrame(encoded));
    const size_t size = ZSTD_decompressDCtx(&ThreadDecompressor(), target.data(), target.size(),
                                            encoded.data(), encoded.size());
    if (ZSTD_isError(size)) return DataLoss("zstd: ", ZSTD_getErrorName(size));
    if (size != target.size()) {
      return DataLoss("zstd: decoded ", size, " bytes, expected ", target.size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                    size_t most) const override {
    const uint64_t declared = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
    if (declared == ZSTD_CONTENTSIZE_ERROR) return DataLoss("zstd: the data has no frame header");
    if (declared != ZSTD_CONTENTSIZE_UNKNOWN) {
      if (declared > most) {
        return DataLoss("zstd: the frame holds ", declared, " bytes, at most ", most, " expected");
      }
      std::vector<std::byte> data(declared);
      TESSERA_RETURN_IF_ERROR(Decode(encoded, data));
      return data;
    }
    TESSERA_RETURN_IF_ERROR(CheckOneFrame(encoded));
    return DecodeStream(encoded, most);
  }

 private:
  static absl::Status CheckOneFrame(std::span<const std::byte> encoded) {
    const size_t frame = ZSTD_findFrameCompressedSize(encoded.data(), encoded.size());
    if (ZSTD_isError(frame)) return DataLoss("zstd: ", ZSTD_getErrorName(frame));
    if (frame == encoded.size()) return absl::OkStatus();
    return DataLoss("zstd: ", encoded.size() - frame, " bytes follow the frame");
  }

  static absl::StatusOr<std::vector<std::byte>> DecodeStream(std::span<const std::byte> encoded,
                                                             size_t most) {
    ZSTD_DCtx& context = ThreadDecompressor();
    ZSTD_DCtx_reset(&context, ZSTD_reset_session_only);
    GrowingBuffer buffer(most);
    ZSTD_inBuffer input{encoded.data(), encoded.size(), 0};
    while (true) {
      const std::span<std::byte> room = buffer.Room();
      ZSTD_outBuffer output{room.data(), room.size(), 0};
      const size_t left = ZSTD_decompressStream(&context, &output, &input);
      if (ZSTD_isError(left)) return DataLoss("zstd: ", ZSTD_getErrorName(left));
      buffer.Used(output.pos);
      if (left == 0) return std::move(buffer).Take();
      if (buffer.full()) return DataLoss("zstd: more than the ", most, " bytes expected");
      if (input.pos == input.size && output.pos < output.size) {
        return DataLoss("zstd: the frame is cut short");
      }
    }
  }

  const ZstdSpec spec_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeZstd(const ZstdSpec& spec) {
  constexpr int kLowest = -131072;
  constexpr int kHighest = 22;
  if (spec.level < kLowest || spec.level > kHighest) {
    return InvalidArgument("zstd: level ", spec.level, "; expected ", kLowest, " to ", kHighest);
  }
  return std::make_unique<ZstdCodec>(spec);
}

}  // namespace tessera::codec
