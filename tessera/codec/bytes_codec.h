// Codecs from bytes to bytes: compression and checksums.  Pure: memory to memory, no I/O.
#ifndef TESSERA_CODEC_BYTES_CODEC_H_
#define TESSERA_CODEC_BYTES_CODEC_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"
#include "tessera/core/buffer.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"

namespace tessera::codec {

// Decodes what comes in pieces.  Used by one thread at a time; its target outlives it.
class PieceDecoder {
 public:
  virtual ~PieceDecoder() = default;

  // The next encoded bytes; the first piece has at least 32, unless it is all there is.  DataLoss
  // as soon as they cannot be right.
  virtual absl::Status Feed(std::span<const std::byte> piece) = 0;

  // After the last piece.  DataLoss when there should have been more.
  virtual absl::Status Finish() = 0;
};

// Decodes from pieces to pieces, with memory that does not grow with the data.  Used by one thread
// at a time.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;

  // Takes bytes from the front of `input` and writes to the front of `output`; each shrinks by as
  // much.  Comes back when everything that the input gives is written, or when the output is full;
  // then there may be more, also once the input is empty.  DataLoss as soon as the bytes cannot be
  // right, or go on after the end; ResourceExhausted when they want more memory than was promised.
  virtual absl::Status Decode(std::span<const std::byte>& input, std::span<std::byte>& output) = 0;

  // After the last input, with nothing left to write.  DataLoss when there should have been more.
  virtual absl::Status Finish() = 0;
};

// Thread-safe: holds only its settings.
class BytesCodec {
 public:
  virtual ~BytesCodec() = default;

  // For messages: "zstd".
  virtual std::string_view name() const = 0;

  // The most that Encode makes of this many bytes; what `encoded` is resized to on the way.
  virtual size_t MostEncoded(size_t decoded) const = 0;

  // What any encoder makes of this many bytes; nullopt when it depends on the data.
  virtual std::optional<size_t> FixedEncoded(size_t) const { return std::nullopt; }

  // Fills `encoded`, whose size is then that of the result.  InvalidArgument when the format
  // cannot hold that much.  REQUIRES: `data` does not lie in `encoded`.
  virtual absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const = 0;

  // The same in pieces of about kPieceBytes where the codec can, else in one; `room` holds them.
  virtual absl::Status EncodeTo(std::span<const std::byte> data, Buffer& room, Sink sink) const {
    TESSERA_RETURN_IF_ERROR(Encode(data, room));
    return sink(room.span());
  }

  // What EncodeTo resizes `room` to on the way.
  virtual size_t EncodeToRoom(size_t decoded) const { return MostEncoded(decoded); }

  // A decoder of pieces, which fills `target` as Decode does; null when the codec has none.
  virtual std::unique_ptr<PieceDecoder> StartDecode(std::span<std::byte>) const { return nullptr; }
  virtual bool decodes_pieces() const { return false; }

  // A decoder from pieces to pieces, which takes at most StreamBytes() of memory; null, and
  // nullopt, when the codec has none.
  virtual std::unique_ptr<StreamDecoder> StartStream() const { return nullptr; }
  virtual std::optional<size_t> StreamBytes() const { return std::nullopt; }

  // Fills `target`, whose size is that of the decoded data.  Never writes past it.  DataLoss when
  // `encoded` is damaged, holds other than target.size() bytes, or has anything after its end.
  virtual absl::Status Decode(std::span<const std::byte> encoded,
                              std::span<std::byte> target) const = 0;

  // Decodes data of unknown size, and returns it: a part of `encoded` itself where the codec only
  // checks, else in `decoded`, which grows to `most` bytes at the most.  DataLoss when the data is
  // more than that.  REQUIRES: `encoded` does not lie in `decoded`.
  virtual absl::StatusOr<std::span<const std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                                size_t most,
                                                                Buffer& decoded) const = 0;
};

// InvalidArgument, naming the setting, when one is out of its range.
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBytesCodec(const BytesSpec& spec);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_BYTES_CODEC_H_
