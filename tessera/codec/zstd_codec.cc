#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

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

// How much a frame that does not tell its size can hold at the most.  Only the headers of its
// blocks are read.  REQUIRES: ZSTD_findFrameCompressedSize has accepted the frame.
size_t MostInFrame(std::span<const std::byte> frame) {
  constexpr size_t kDictionaryBytes[] = {0, 1, 2, 4};
  constexpr size_t kMostInBlock = size_t{128} << 10;
  enum BlockType { kRaw, kRepeated, kCompressed };
  const auto at = [&](size_t i) { return static_cast<uint32_t>(frame[i]); };
  // Magic, descriptor and window; no size.
  size_t offset = 6 + kDictionaryBytes[at(4) & 3];
  size_t most = 0;
  for (bool last = false; !last; offset += 3) {
    const uint32_t header = at(offset) | at(offset + 1) << 8 | at(offset + 2) << 16;
    last = (header & 1) != 0;
    const uint32_t type = header >> 1 & 3;
    const size_t size = header >> 3;
    most += type == kCompressed ? kMostInBlock : size;
    offset += type == kRepeated ? 1 : size;
  }
  return most;
}

class ZstdCodec final : public BytesCodec {
 public:
  explicit ZstdCodec(const ZstdSpec& spec) : spec_(spec) {}

  std::string_view name() const override { return "zstd"; }

  size_t MostEncoded(size_t decoded) const override { return ZSTD_compressBound(decoded); }

  absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const override {
    ZSTD_CCtx& context = ThreadCompressor();
    ZSTD_CCtx_reset(&context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_compressionLevel, spec_.level);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_checksumFlag, spec_.checksum ? 1 : 0);
    const std::span<std::byte> target = encoded.Resize(MostEncoded(data.size()));
    const size_t size =
        ZSTD_compress2(&context, target.data(), target.size(), data.data(), data.size());
    if (ZSTD_isError(size)) return Internal("zstd: ", ZSTD_getErrorName(size));
    encoded.Resize(size);
    return absl::OkStatus();
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    TESSERA_ASSIGN_OR_RETURN(const std::optional<size_t> declared, DeclaredSize(encoded));
    if (declared.value_or(target.size()) != target.size()) {
      return DataLoss("zstd: the frame holds ", *declared, " bytes, expected ", target.size());
    }
    TESSERA_ASSIGN_OR_RETURN(const size_t size, DecodeInto(encoded, target));
    if (size == target.size()) return absl::OkStatus();
    return DataLoss("zstd: decoded ", size, " bytes, expected ", target.size());
  }

  absl::StatusOr<std::span<const std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                        size_t most,
                                                        Buffer& decoded) const override {
    TESSERA_ASSIGN_OR_RETURN(const std::optional<size_t> declared, DeclaredSize(encoded));
    if (declared.value_or(0) > most) {
      return DataLoss("zstd: the frame holds ", *declared, " bytes, at most ", most, " expected");
    }
    const size_t bound = declared.has_value() ? *declared : std::min(most, MostInFrame(encoded));
    const std::span<std::byte> target = decoded.Resize(bound);
    TESSERA_ASSIGN_OR_RETURN(const size_t size, DecodeInto(encoded, target));
    return decoded.Resize(size);
  }

 private:
  // What the header of the one frame tells.  Frames of before version 0.8 and those that only hold
  // a user's data are refused: no writer of arrays makes them.
  static absl::StatusOr<std::optional<size_t>> DeclaredSize(std::span<const std::byte> encoded) {
    constexpr unsigned char kMagic[] = {0x28, 0xb5, 0x2f, 0xfd};
    const uint64_t declared = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
    if (declared == ZSTD_CONTENTSIZE_ERROR ||
        std::memcmp(encoded.data(), kMagic, sizeof(kMagic)) != 0) {
      return DataLoss("zstd: the data has no frame header");
    }
    const size_t frame = ZSTD_findFrameCompressedSize(encoded.data(), encoded.size());
    if (ZSTD_isError(frame)) return DataLoss("zstd: ", ZSTD_getErrorName(frame));
    if (frame != encoded.size()) {
      return DataLoss("zstd: ", encoded.size() - frame, " bytes follow the frame");
    }
    if (declared == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
    return declared;
  }

  // In one go: the target is the window, so even one of 2 GiB takes no memory of its own, which
  // the streaming interface would allocate because a header says so.
  static absl::StatusOr<size_t> DecodeInto(std::span<const std::byte> encoded,
                                           std::span<std::byte> target) {
    const size_t size = ZSTD_decompressDCtx(&ThreadDecompressor(), target.data(), target.size(),
                                            encoded.data(), encoded.size());
    if (!ZSTD_isError(size)) return size;
    if (ZSTD_getErrorCode(size) == ZSTD_error_dstSize_tooSmall) {
      return DataLoss("zstd: more than the ", target.size(), " bytes expected");
    }
    return DataLoss("zstd: ", ZSTD_getErrorName(size));
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
