// A chunk from memory to bytes and back, shards with all that is inside; no store involved.
#ifndef TESSERA_ZARR_ENCODE_CHUNK_H_
#define TESSERA_ZARR_ENCODE_CHUNK_H_

#include <cstddef>
#include <span>
#include <stop_token>

#include "absl/status/status.h"
#include "tessera/core/io_context.h"
#include "tessera/core/pieces.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/chunk_codec.h"
#include "tessera/zarr/worker.h"

namespace tessera::zarr {

// One element, and whether chunks full of it are left out.
struct FillRule {
  std::span<const std::byte> element;
  bool omit = false;
};

// Whether every element of the view is `element`, bit for bit.
bool HoldsOnly(const ConstStridedView& view, std::span<const std::byte> element);

// Hands the bytes of a chunk to `sink`.  Chunks inside of a shard are encoded in parallel and
// stored in C order; those that `fill` leaves out are missing in its index.
absl::Status EncodeChunk(const ChunkCodec& codec, const ConstStridedView& source,
                         const FillRule& fill, IoContext& io, Worker& worker, std::stop_token stop,
                         Sink sink);

// Fills `target`, of the chunk's shape, from a chunk that is in memory.
absl::Status DecodeChunk(const ChunkCodec& codec, std::span<const std::byte> encoded,
                         std::span<const std::byte> fill, const StridedView& target,
                         codec::Scratch& scratch);

// Every element of `target` becomes `element`.
absl::Status FillView(std::span<const std::byte> element, const StridedView& target);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_ENCODE_CHUNK_H_
