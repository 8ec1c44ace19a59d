// A chain of codecs from bytes to bytes, as zarr v3 metadata lists them.
#ifndef TESSERA_CODEC_CHAIN_H_
#define TESSERA_CODEC_CHAIN_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/bytes_codec.h"
#include "tessera/codec/scratch.h"

namespace tessera::codec {

// Encoding runs from first to last, decoding from last to first.  Thread-safe.
class Chain {
 public:
  // No codecs: the bytes as they are.
  Chain() = default;
  static absl::StatusOr<Chain> Make(std::span<const BytesSpec> specs);

  bool empty() const { return codecs_.empty(); }

  // The most that Encode makes of this many bytes.
  size_t MostEncoded(size_t decoded) const;

  // The most that is believed of any encoder: ours stay under 17 %, foreign ones get a quarter and
  // 4 KiB for each compressor.
  size_t MostAccepted(size_t decoded) const { return MostAccepted(decoded, codecs_.size()); }

  // What any encoder makes of this many bytes: set when there are only checksums.
  std::optional<size_t> FixedEncoded(size_t decoded) const;

  // The encoded bytes: `data` itself when there are no codecs, else in `scratch`.
  // REQUIRES: `data` does not lie in scratch.front or scratch.back.
  absl::StatusOr<std::span<const std::byte>> Encode(std::span<const std::byte> data,
                                                    Scratch& scratch) const;

  // The same, handed on piece by piece.
  absl::Status EncodeTo(std::span<const std::byte> data, Scratch& scratch, Sink sink) const;

  // A decoder of pieces; null unless there is one codec and it has one.
  std::unique_ptr<PieceDecoder> StartDecode(std::span<std::byte> target) const;
  bool decodes_pieces() const { return codecs_.size() == 1 && codecs_[0]->decodes_pieces(); }

  // A decoder from pieces to pieces, and the memory that it takes: null without codecs, null and
  // nullopt when one has no such decoder.
  std::unique_ptr<StreamDecoder> StartStream() const;
  std::optional<size_t> StreamBytes() const;

  // Fills `target`, whose size is that of the decoded data, without touching `scratch` when there
  // is one codec.  Between two codecs the data may be no larger than MostAccepted.
  absl::Status Decode(std::span<const std::byte> encoded, std::span<std::byte> target,
                      Scratch& scratch) const;

  // Decodes to wherever it costs least, and returns that: inside `encoded` itself when there are
  // only checksums, else scratch.elements.
  absl::StatusOr<std::span<const std::byte>> DecodeAnywhere(std::span<const std::byte> encoded,
                                                            size_t decoded, Scratch& scratch) const;

  // The most that scratch.front and scratch.back grow to, together.
  size_t EncodeScratch(size_t decoded) const;
  size_t EncodeToScratch(size_t decoded) const;
  size_t DecodeScratch(size_t decoded) const;

 private:
  // After the first `count` codecs.
  size_t MostAccepted(size_t decoded, size_t count) const;

  // Undoes all codecs but the first.
  absl::StatusOr<std::span<const std::byte>> DecodeToFirst(std::span<const std::byte> encoded,
                                                           size_t decoded, Scratch& scratch) const;

  std::vector<std::shared_ptr<const BytesCodec>> codecs_;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_CHAIN_H_
