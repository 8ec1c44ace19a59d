#include "tessera/convert/call_needs.h"

#include <algorithm>

#include "tessera/core/status.h"
#include "tessera/zarr/chunk_codec.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/read_method.h"

namespace tessera::convert {
namespace {

absl::StatusOr<int64_t> ToReadZarr(const zarr::Metadata& metadata, int64_t budget_bytes) {
  TESSERA_ASSIGN_OR_RETURN(
      const zarr::ChunkCodec codec,
      zarr::ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
  const int64_t need = zarr::MostReadNeed(codec, {.streams = true, .verify = true});
  // A shard is kept while it is verified, up to a quarter of the budget.
  if (codec.shard != nullptr) return zarr::SaturatingSum({need, budget_bytes / 4});
  return need;
}

}  // namespace

absl::StatusOr<int64_t> CallNeeds::ToRead(const checkpoint::CheckpointArray& array) {
  const zarr::Metadata* metadata = array.zarr();
  if (metadata == nullptr) return ForTensor(array.dtype(), array.chunk_shape());
  const auto known = known_.find(metadata);
  if (known != known_.end()) return known->second;
  TESSERA_ASSIGN_OR_RETURN(const int64_t need, ToReadZarr(*metadata, budget_bytes_));
  known_[metadata] = need;
  return need;
}

absl::StatusOr<int64_t> CallNeeds::ForZarr(const zarr::Metadata& metadata) {
  TESSERA_ASSIGN_OR_RETURN(
      const zarr::ChunkCodec codec,
      zarr::ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
  return std::max(zarr::MostWriteNeed(codec, true, metadata.dtype),
                  zarr::MostReadNeed(codec, {.streams = true, .verify = true}));
}

// A block as it is stored, and its elements where they are packed there.
absl::StatusOr<int64_t> CallNeeds::ForTensor(DType dtype, DimsView block_shape) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t block, NumBytes(dtype, block_shape));
  return InfoOf(dtype).bits < 8 ? zarr::SaturatingSum({block, block}) : block;
}

}  // namespace tessera::convert
