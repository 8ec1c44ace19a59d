// For the parameters that keep buffers where they are; they are set through plain functions.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

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

// Sets what a library of another version may lack; without it the result is the same, with one
// more copy.
void TryParameter(ZSTD_CCtx& context, ZSTD_cParameter parameter, int value) {
  ZSTD_CCtx_setParameter(&context, parameter, value);
}

absl::Status ZstdDataLoss(size_t error, size_t expected) {
  if (ZSTD_getErrorCode(error) == ZSTD_error_dstSize_tooSmall) {
    return DataLoss("zstd: more than the ", expected, " bytes expected");
  }
  return DataLoss("zstd: ", ZSTD_getErrorName(error));
}

constexpr unsigned char kMagic[] = {0x28, 0xb5, 0x2f, 0xfd};

// What the header at the front of a frame tells.  Frames of before version 0.8 and those that only
// hold a user's data are refused: no writer of arrays makes them.
absl::StatusOr<std::optional<size_t>> ReadHeader(std::span<const std::byte> encoded) {
  const uint64_t declared = ZSTD_getFrameContentSize(encoded.data(), encoded.size());
  if (declared == ZSTD_CONTENTSIZE_ERROR ||
      std::memcmp(encoded.data(), kMagic, sizeof(kMagic)) != 0) {
    return DataLoss("zstd: the data has no frame header");
  }
  if (declared == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
  return declared;
}

absl::Status CheckDeclared(const std::optional<size_t>& declared, size_t expected) {
  if (declared.value_or(expected) == expected) return absl::OkStatus();
  return DataLoss("zstd: the frame holds ", *declared, " bytes, expected ", expected);
}

// Decodes straight into the target, which serves as the window.
class ZstdPieceDecoder final : public PieceDecoder {
 public:
  // Null when this version of the library would keep a window of its own, as large as a hostile
  // header says.
  static std::unique_ptr<PieceDecoder> Start(std::span<std::byte> target) {
    constexpr int kMostWindowLog = 31;
    Context context = Spare() != nullptr ? std::move(Spare()) : Context(ZSTD_createDCtx());
    TESSERA_CHECK(context != nullptr);
    ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    if (ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_stableOutBuffer, 1)) ||
        ZSTD_isError(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMostWindowLog))) {
      return nullptr;
    }
    return std::unique_ptr<PieceDecoder>(new ZstdPieceDecoder(std::move(context), target));
  }
  ~ZstdPieceDecoder() override { Spare() = std::move(context_); }

  absl::Status Feed(std::span<const std::byte> piece) override {
    if (piece.empty()) return absl::OkStatus();
    if (!started_) {
      // The first piece holds the header, which is 18 bytes at the most, or all there is.
      TESSERA_ASSIGN_OR_RETURN(const auto declared, ReadHeader(piece));
      TESSERA_RETURN_IF_ERROR(CheckDeclared(declared, output_.size));
      started_ = true;
    }
    ZSTD_inBuffer input{piece.data(), piece.size(), 0};
    while (input.pos < input.size) {
      if (ended_) return DataLoss("zstd: ", input.size - input.pos, " bytes follow the frame");
      const size_t left = ZSTD_decompressStream(context_.get(), &output_, &input);
      if (ZSTD_isError(left)) return ZstdDataLoss(left, output_.size);
      ended_ = left == 0;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    if (!ended_) return DataLoss("zstd: the data ends within its frame");
    if (output_.pos == output_.size) return absl::OkStatus();
    return DataLoss("zstd: decoded ", output_.pos, " bytes, expected ", output_.size);
  }

 private:
  using Context = std::unique_ptr<ZSTD_DCtx, FreeContext>;

  ZstdPieceDecoder(Context context, std::span<std::byte> target)
      : context_(std::move(context)), output_{target.data(), target.size(), 0} {}

  // The one that this thread used last; its memory is large enough to cost when got anew.
  static Context& Spare() {
    thread_local Context spare;
    return spare;
  }

  Context context_;
  ZSTD_outBuffer output_;
  bool started_ = false;
  bool ended_ = false;
};

// Keeps the window that later blocks refer to, which may not be larger than was promised.
class ZstdStream final : public StreamDecoder {
 public:
  explicit ZstdStream(int most_window_log) : context_(ZSTD_createDCtx()) {
    TESSERA_CHECK(context_ != nullptr);
    TESSERA_CHECK(!ZSTD_isError(
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, most_window_log)));
  }

  absl::Status Decode(std::span<const std::byte>& input, std::span<std::byte>& output) override {
    TESSERA_RETURN_IF_ERROR(CheckMagic(input));
    ZSTD_inBuffer from{input.data(), input.size(), 0};
    ZSTD_outBuffer to{output.data(), output.size(), 0};
    // What is decoded but did not fit comes with the next call, even when that has no input.
    do {
      if (ended_) break;
      const size_t left = ZSTD_decompressStream(context_.get(), &to, &from);
      if (ZSTD_isError(left)) return Error(left);
      ended_ = left == 0;
    } while (to.pos < to.size && from.pos < from.size);
    input = input.subspan(from.pos);
    output = output.subspan(to.pos);
    if (!ended_ || input.empty()) return absl::OkStatus();
    return DataLoss("zstd: ", input.size(), " bytes follow the frame");
  }

  absl::Status Finish() override {
    if (ended_) return absl::OkStatus();
    return DataLoss("zstd: the data ends within its frame");
  }

 private:
  // Only frames that ReadHeader takes; the first bytes may come one by one.
  absl::Status CheckMagic(std::span<const std::byte> input) {
    for (const std::byte each : input) {
      if (magic_seen_ == sizeof(kMagic)) break;
      if (static_cast<unsigned char>(each) != kMagic[magic_seen_++]) {
        return DataLoss("zstd: the data has no frame header");
      }
    }
    return absl::OkStatus();
  }

  static absl::Status Error(size_t error) {
    if (ZSTD_getErrorCode(error) == ZSTD_error_frameParameter_windowTooLarge) {
      return ResourceExhausted("zstd: the frame wants a larger window than its level has");
    }
    return DataLoss("zstd: ", ZSTD_getErrorName(error));
  }

  const std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  size_t magic_seen_ = 0;
  bool ended_ = false;
};

class ZstdCodec final : public BytesCodec {
 public:
  explicit ZstdCodec(const ZstdSpec& spec) : spec_(spec) {}

  std::string_view name() const override { return "zstd"; }

  size_t MostEncoded(size_t decoded) const override { return ZSTD_compressBound(decoded); }

  absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const override {
    ZSTD_CCtx& context = Compressor();
    const std::span<std::byte> target = encoded.Resize(MostEncoded(data.size()));
    const size_t size =
        ZSTD_compress2(&context, target.data(), target.size(), data.data(), data.size());
    if (ZSTD_isError(size)) return Internal("zstd: ", ZSTD_getErrorName(size));
    encoded.Resize(size);
    return absl::OkStatus();
  }

  absl::Status EncodeTo(std::span<const std::byte> data, Buffer& room, Sink sink) const override {
    ZSTD_CCtx& context = Compressor();
    // The data stays where it is until the end, so it need not be copied to a window.
    TryParameter(context, ZSTD_c_stableInBuffer, 1);
    ZSTD_CCtx_setPledgedSrcSize(&context, data.size());
    const std::span<std::byte> piece = room.Resize(kPieceBytes);
    ZSTD_inBuffer input{data.data(), data.size(), 0};
    for (size_t left = 1; left != 0;) {
      ZSTD_outBuffer output{piece.data(), piece.size(), 0};
      left = ZSTD_compressStream2(&context, &output, &input, ZSTD_e_end);
      if (ZSTD_isError(left)) return Internal("zstd: ", ZSTD_getErrorName(left));
      TESSERA_RETURN_IF_ERROR(sink(piece.first(output.pos)));
    }
    return absl::OkStatus();
  }

  size_t EncodeToRoom(size_t) const override { return kPieceBytes; }

  std::unique_ptr<PieceDecoder> StartDecode(std::span<std::byte> target) const override {
    return ZstdPieceDecoder::Start(target);
  }
  bool decodes_pieces() const override { return true; }

  std::unique_ptr<StreamDecoder> StartStream() const override {
    return std::make_unique<ZstdStream>(WindowLog());
  }
  std::optional<size_t> StreamBytes() const override {
    return ZSTD_estimateDStreamSize(size_t{1} << WindowLog());
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    TESSERA_ASSIGN_OR_RETURN(const std::optional<size_t> declared, DeclaredSize(encoded));
    TESSERA_RETURN_IF_ERROR(CheckDeclared(declared, target.size()));
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
  // This thread's, set up anew.
  ZSTD_CCtx& Compressor() const {
    ZSTD_CCtx& context = ThreadCompressor();
    ZSTD_CCtx_reset(&context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_compressionLevel, spec_.level);
    ZSTD_CCtx_setParameter(&context, ZSTD_c_checksumFlag, spec_.checksum ? 1 : 0);
    return context;
  }

  // Of a frame of this level, whatever it holds.
  int WindowLog() const {
    constexpr unsigned kLeast = 19;
    return static_cast<int>(std::max(kLeast, ZSTD_getCParams(spec_.level, 0, 0).windowLog));
  }

  // Of the one frame that `encoded` must be.
  static absl::StatusOr<std::optional<size_t>> DeclaredSize(std::span<const std::byte> encoded) {
    TESSERA_ASSIGN_OR_RETURN(const std::optional<size_t> declared, ReadHeader(encoded));
    const size_t frame = ZSTD_findFrameCompressedSize(encoded.data(), encoded.size());
    if (ZSTD_isError(frame)) return DataLoss("zstd: ", ZSTD_getErrorName(frame));
    if (frame != encoded.size()) {
      return DataLoss("zstd: ", encoded.size() - frame, " bytes follow the frame");
    }
    return declared;
  }

  // In one go: the target is the window, so even one of 2 GiB takes no memory of its own, which
  // the streaming interface would allocate because a header says so.
  static absl::StatusOr<size_t> DecodeInto(std::span<const std::byte> encoded,
                                           std::span<std::byte> target) {
    const size_t size = ZSTD_decompressDCtx(&ThreadDecompressor(), target.data(), target.size(),
                                            encoded.data(), encoded.size());
    if (ZSTD_isError(size)) return ZstdDataLoss(size, target.size());
    return size;
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
