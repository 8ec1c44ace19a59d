// A part of one chunk: where its bytes are stored, and where its elements go.
#ifndef TESSERA_ZARR_WANTED_H_
#define TESSERA_ZARR_WANTED_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tessera/core/box.h"
#include "tessera/core/stored_value.h"
#include "tessera/core/strided.h"
#include "tessera/store/kv_store.h"
#include "tessera/zarr/shard_index.h"

namespace tessera::zarr {

// Where a chunk's bytes lie: a whole value, or an extent of one.
struct StoredChunk {
  std::string key;
  std::optional<Extent> extent = {};         // nullopt: the whole value
  store::Generation generation = {};         // of the value, where some of it was read before
  std::optional<StoredValue> expected = {};  // what the whole value must be, if it is checked
  std::optional<std::span<const std::byte>> held = {};  // the bytes, when memory has them already
};

// The part of a chunk that is wanted.
struct Wanted {
  Box part;                           // in the chunk's own indices
  std::optional<StridedView> target;  // of the part's shape; nullopt: a destination's Put
  Dims origin;      // the array index of the chunk's first element, by the chunk's dimensions
  Dims dimensions;  // the array's dimension that each of the chunk's is
};

// All of a box of the array, as if the array were one chunk.
Wanted WantedOf(const Box& box, const std::optional<StridedView>& target);

// The same, in the dimensions of a shard.
Wanted Turned(const Wanted& wanted, DimsView order);

// What is wanted of one of the chunks inside.
Wanted InnerWanted(const Wanted& wanted, const Box& cell);

// A box of the chunk's indices as one of the array's, and a view of it by the array's dimensions.
Box ArrayBox(const Wanted& wanted, const Box& box);
inline Box ArrayBox(const Wanted& wanted) { return ArrayBox(wanted, wanted.part); }
ConstStridedView InArrayOrder(const Wanted& wanted, const ConstStridedView& view);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_WANTED_H_
