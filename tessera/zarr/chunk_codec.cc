#include "tessera/zarr/chunk_codec.h"

#include <limits>
#include <utility>

#include "tessera/codec/transposes.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::zarr {
namespace {

Dims PermutedDims(DimsView dims, DimsView order) {
  Dims permuted(order.size());
  for (size_t i = 0; i < order.size(); ++i) permuted[i] = dims[order[i]];
  return permuted;
}

absl::StatusOr<codec::ArrayCodec> ArrayCodecOf(const ShapeDtype& array, const ChunkCodecs& codecs) {
  return codec::ArrayCodec::Make({array, codecs.transposes, codecs.endian, codecs.compression});
}

absl::StatusOr<ShardCodec> MakeShard(const ShapeDtype& chunk, const ChunkCodecs& codecs) {
  const ShardSpec& spec = *codecs.shard;
  TESSERA_ASSIGN_OR_RETURN(const Dims order,
                           codec::Composed(codecs.transposes, chunk.shape.size()));
  const Dims shape = PermutedDims(chunk.shape, order);
  const Dims grid = GridShape(shape, spec.chunk_shape);
  TESSERA_ASSIGN_OR_RETURN(ChunkCodec inner,
                           ChunkCodec::Make({spec.chunk_shape, chunk.dtype}, spec.codecs));
  Dims index_shape = grid;
  index_shape.push_back(2);
  TESSERA_ASSIGN_OR_RETURN(codec::ArrayCodec index,
                           ArrayCodecOf({index_shape, DType::kUint64}, spec.index_codecs));
  if (!index.fixed_encoded_bytes().has_value()) {
    return InvalidArgument("index_codecs: the index of a shard cannot be compressed");
  }
  return ShardCodec{order, shape, grid, std::move(inner), std::move(index), spec.index_location};
}

int64_t MostOfShard(const ShardCodec& shard, int64_t most_inner) {
  // Both factors may be anything: Validate() bounds what is decoded, not this.
  const double most = static_cast<double>(shard.inner_count()) * static_cast<double>(most_inner);
  if (most > 0x1p62) return std::numeric_limits<int64_t>::max();
  return shard.inner_count() * most_inner + shard.index_bytes();
}

}  // namespace

absl::StatusOr<ChunkCodec> ChunkCodec::Make(const ShapeDtype& chunk, const ChunkCodecs& codecs) {
  ChunkCodec made{.shape = chunk.shape};
  if (codecs.shard == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(made.elements, ArrayCodecOf(chunk, codecs));
    return made;
  }
  TESSERA_ASSIGN_OR_RETURN(ShardCodec shard, MakeShard(chunk, codecs));
  made.shard = std::make_shared<const ShardCodec>(std::move(shard));
  return made;
}

int64_t ChunkCodec::most_encoded_bytes() const {
  if (elements.has_value()) return elements->most_encoded_bytes();
  return MostOfShard(*shard, shard->inner.most_encoded_bytes());
}

int64_t ChunkCodec::most_written_bytes() const {
  if (elements.has_value()) return elements->most_written_bytes();
  return MostOfShard(*shard, shard->inner.most_written_bytes());
}

Box Permuted(const Box& box, DimsView order) {
  absl::StatusOr<Box> permuted =
      Box::Make(PermutedDims(box.origin(), order), PermutedDims(box.shape(), order));
  TESSERA_CHECK(permuted.ok());
  return *std::move(permuted);
}

}  // namespace tessera::zarr
