#include "tessera/convert/call_needs.h"

#include "tessera/core/status.h"
#include "tessera/zarr/chunk_codec.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/read_method.h"

namespace tessera::convert {

bool IsZarr(const checkpoint::CheckpointArray& array) { return array.metadata != nullptr; }

Dims ChunkShapeOf(const checkpoint::CheckpointArray& array) { return array.metadata->chunk_shape; }

absl::StatusOr<int64_t> CallNeeds::ToRead(const checkpoint::CheckpointArray& array) {
  const auto known = known_.find(array.metadata.get());
  if (known != known_.end()) return known->second;
  const zarr::Metadata& metadata = *array.metadata;
  TESSERA_ASSIGN_OR_RETURN(
      const zarr::ChunkCodec codec,
      zarr::ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
  int64_t need = zarr::MostReadNeed(codec, {.streams = true, .verify = true});
  // A shard is kept while it is verified, up to a quarter of the budget.
  if (codec.shard != nullptr) need = zarr::SaturatingSum({need, budget_bytes_ / 4});
  known_[array.metadata.get()] = need;
  return need;
}

absl::StatusOr<int64_t> CallNeeds::ToWrite(const zarr::Metadata& metadata) {
  TESSERA_ASSIGN_OR_RETURN(
      const zarr::ChunkCodec codec,
      zarr::ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
  return zarr::MostWriteNeed(codec, true, metadata.dtype);
}

}  // namespace tessera::convert
