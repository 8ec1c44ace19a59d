// How much memory beside the source one worker takes to write a chunk.
//
// `streams` says that the store takes none for values that come in pieces.
#ifndef TESSERA_ZARR_MEMORY_NEED_H_
#define TESSERA_ZARR_MEMORY_NEED_H_

#include <cstdint>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/chunk_codec.h"

namespace tessera::zarr {

// The sum, or the largest number where that is more.  REQUIRES: none is negative.
int64_t SaturatingSum(std::initializer_list<int64_t> parts);

// To write a chunk from `source`, its elements where they are.
int64_t EncodeNeed(const ChunkCodec& codec, bool streams, const ConstStridedView& source);

// To encode it in memory, as a part of a shard.
int64_t InnerEncodeNeed(const ChunkCodec& codec, const ConstStridedView& source);

// To write any part of a chunk: it may have to be read, merged in memory and encoded.
int64_t MostWriteNeed(const ChunkCodec& codec, bool streams, DType dtype);

// The most of need(0) to need(count - 1), or `bound` when that is too many to ask.
int64_t MostOver(int64_t count, int64_t bound, absl::FunctionRef<int64_t(int64_t)> need);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_MEMORY_NEED_H_
