// ChunkCodec: metadata's codecs made ready for one shape of chunk.
#ifndef TESSERA_ZARR_CHUNK_CODEC_H_
#define TESSERA_ZARR_CHUNK_CODEC_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "tessera/codec/array_codec.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

struct ShardCodec;

// Either one array of elements or a shard of smaller chunks; never both.  Immutable.
struct ChunkCodec {
  Dims shape = {};                                 // of the chunk, decoded
  std::optional<codec::ArrayCodec> elements = {};  // set unless there is a shard
  std::shared_ptr<const ShardCodec> shard = nullptr;

  // InvalidArgument when the codecs do not fit the chunk, as Validate() would say.
  static absl::StatusOr<ChunkCodec> Make(const ShapeDtype& chunk, const ChunkCodecs& codecs);

  // No encoder in use makes more of the chunk than this; what is stored may be refused above it.
  int64_t most_encoded_bytes() const;
  // Ours makes no more than this.
  int64_t most_written_bytes() const;
};

struct ShardCodec {
  Dims order;  // dimension i of the shard is dimension order[i] of the chunk
  Dims shape;  // of the chunk in the shard's dimensions
  Dims grid;   // of inner chunks
  ChunkCodec inner;
  codec::ArrayCodec index;
  ShardSpec::IndexLocation index_location;

  int64_t inner_count() const { return index.decoded_bytes() / 16; }
  // The index has a known size; Validate() saw to it.
  int64_t index_bytes() const { return *index.fixed_encoded_bytes(); }
};

// The same part of an array seen in the dimensions of `order`.
Box Permuted(const Box& box, DimsView order);
template <typename Byte>
BasicStridedView<Byte> Permuted(const BasicStridedView<Byte>& view, DimsView order) {
  BasicStridedView<Byte> permuted = view;
  for (size_t i = 0; i < order.size(); ++i) {
    permuted.shape[i] = view.shape[order[i]];
    permuted.strides[i] = view.strides[order[i]];
  }
  return permuted;
}

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_CHUNK_CODEC_H_
