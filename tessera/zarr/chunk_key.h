// The key of a chunk, made of its place in the grid.
#ifndef TESSERA_ZARR_CHUNK_KEY_H_
#define TESSERA_ZARR_CHUNK_KEY_H_

#include <string>

#include "tessera/core/shape.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// "0.1" or "c/0/1", relative to the array.  The one chunk of rank 0 is "0" or "c".
// REQUIRES: no index in `cell` is negative.
std::string ChunkKey(const ChunkKeys& keys, DimsView cell);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_CHUNK_KEY_H_
