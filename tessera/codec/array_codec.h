// From a dense array in memory to the bytes of one stored value, and back.
#ifndef TESSERA_CODEC_ARRAY_CODEC_H_
#define TESSERA_CODEC_ARRAY_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/chain.h"
#include "tessera/codec/scratch.h"
#include "tessera/codec/spec.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"

namespace tessera::codec {

// Takes a box of an array and its elements, which live during the call only.
using BoxSink = absl::FunctionRef<absl::Status(const Box&, const ConstStridedView&)>;

struct ArraySpec {
  ShapeDtype array = {};  // what is decoded
  // In the order of encoding; dimension i after one is dimension order[i] before it.
  std::vector<Dims> transposes = {};
  Endian endian = Endian::kLittle;  // means nothing when an element is one byte
  std::vector<BytesSpec> compression = {};
};

// Transposes, puts the bytes of each element in order, compresses.  An element under a byte takes
// a whole one, in memory as in storage.  Immutable and thread-safe; copies share the codecs.
class ArrayCodec {
 public:
  // InvalidArgument when the shape is not valid, a transpose is no permutation of its dimensions,
  // a codec's setting is out of range, or sizes do not fit 63 bits.
  static absl::StatusOr<ArrayCodec> Make(const ArraySpec& spec);

  const ShapeDtype& array() const { return array_; }

  // Of the whole array.
  int64_t decoded_bytes() const { return decoded_bytes_; }

  // A stored value larger than this is refused before it is read.  Generous to foreign encoders,
  // exact when the size is fixed.
  int64_t most_encoded_bytes() const { return most_encoded_bytes_; }

  // Encode makes no more than this.
  int64_t most_written_bytes() const;

  // Of every stored value, when it does not depend on the data.
  std::optional<int64_t> fixed_encoded_bytes() const;

  // True when the stored bytes are the elements in C order as memory has them, and any bytes of
  // the right number are an array: whoever has them can use them without decoding.
  bool plain() const;

  // The encoded bytes: `source`'s own memory when that is already the result, else in `scratch`.
  // InvalidArgument when `source` has another shape or element size, or holds a bool other than 0
  // and 1, which no reader would take back.  Bits above a type under a byte are stored as memory
  // has them: readers pass over them.  REQUIRES: `source` does not lie in `scratch`.
  absl::StatusOr<std::span<const std::byte>> Encode(const ConstStridedView& source,
                                                    Scratch& scratch) const;

  // The same, handed on piece by piece.
  absl::Status EncodeTo(const ConstStridedView& source, Scratch& scratch, Sink sink) const;

  // Decodes the array and copies its `part` to `target`, which has the part's shape.  Goes straight
  // to the target when the part is the whole array and the target lies as the bytes are stored;
  // without compression only the part is copied.  DataLoss when the bytes are damaged or too few or
  // many; the target then holds anything.  REQUIRES: `encoded` lies neither in `scratch` nor in the
  // target.
  absl::Status Decode(std::span<const std::byte> encoded, const Box& part,
                      const StridedView& target, Scratch& scratch) const;

  // A decoder of pieces, which does what Decode does; null when the codecs want all bytes at once,
  // or the request is one that Decode refuses.  Target and scratch, which nobody else may use
  // meanwhile, outlive it.
  std::unique_ptr<PieceDecoder> StartDecode(const Box& part, const StridedView& target,
                                            Scratch& scratch) const;
  bool decodes_pieces() const { return chain_.decodes_pieces(); }

  // A decoder of pieces that hands on the elements of `part` slab by slab: as many whole indices of
  // the slowest dimension, as stored, as `slab_bytes` have room for, or of the next one where a
  // single index is more.  The first piece begins `offset` bytes into the array, which is 0 unless
  // there is no compression; the last one may then end behind the part.  Sink and scratch outlive
  // it.  REQUIRES: StreamBytes() is set, `part` lies in the array and is not empty, slab_bytes > 0.
  std::unique_ptr<PieceDecoder> StartSlabs(const Box& part, int64_t slab_bytes, int64_t offset,
                                           Scratch& scratch, BoxSink sink) const;
  // What a slab comes to, except for the last ones.
  int64_t SlabBytes(int64_t slab_bytes) const;
  // What such a decoder takes beside its slab; nullopt when the codecs want all bytes at once.
  std::optional<int64_t> StreamBytes() const;
  // The stored bytes are the elements, in some order of dimensions and of bytes.
  bool uncompressed() const { return chain_.empty(); }

  // Memory of decoded_bytes() seen as an array in the order in which it is stored.
  StridedView StoredView(std::byte* data) const {
    return {data, array_.shape, stored_strides_, element_bytes_};
  }
  bool DecodesDirectly(const Box& part, const StridedView& target) const;

  // The most bytes that `scratch` grows to, for a byte budget.
  int64_t EncodeScratchBytes(const ConstStridedView& source) const;
  int64_t EncodeToScratchBytes(const ConstStridedView& source) const;
  int64_t DecodeScratchBytes(const Box& part, const StridedView& target) const;
  // For any part and target.
  int64_t MostDecodeScratchBytes() const;

 private:
  class PartDecoder;
  class SlabDecoder;

  ArrayCodec() = default;

  size_t decoded_size() const { return static_cast<size_t>(decoded_bytes_); }

  // True when index for index the strides are those of the stored bytes.
  bool IsStoredOrder(DimsView strides) const;
  // From memory as it is to bytes in stored order, in scratch.elements where they need to move.
  absl::StatusOr<std::span<const std::byte>> Arrange(const ConstStridedView& source,
                                                     Scratch& scratch) const;
  size_t ArrangeScratch(const ConstStridedView& source) const;
  // From bytes in stored order to the target.
  absl::Status Place(std::span<const std::byte> elements, const Box& part,
                     const StridedView& target) const;
  // Makes what was put into the target elements as memory has them.
  absl::Status FixUp(const Box& part, const StridedView& target) const;
  absl::Status CheckSource(const ConstStridedView& source) const;
  absl::Status CheckPart(const Box& part, const StridedView& target) const;

  ShapeDtype array_;
  int64_t element_bytes_ = 0;
  int64_t decoded_bytes_ = 0;
  int64_t most_encoded_bytes_ = 0;
  Dims stored_order_;    // the array's dimensions, the slowest first
  Dims stored_strides_;  // of each dimension of the array, where the bytes are stored
  int swap_unit_ = 1;    // bytes to reverse at a time; 1: none
  Chain chain_;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_ARRAY_CODEC_H_
