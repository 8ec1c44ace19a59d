// How a part of a chunk is read, and how much memory one worker takes for it beside the target.
#ifndef TESSERA_ZARR_READ_METHOD_H_
#define TESSERA_ZARR_READ_METHOD_H_

#include <cstdint>

#include "tessera/core/box.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/chunk_codec.h"
#include "tessera/zarr/wanted.h"

namespace tessera::zarr {

// What a reader works under.
struct ReadTerms {
  bool streams = false;   // the store takes no memory for values that come in pieces
  bool verify = false;    // every value is read whole, and hashed
  int64_t most_held = 0;  // a shard that is verified is kept in memory up to this size
};

// The bytes of a plain chunk from the first to the last element of a part.
struct PlainRun {
  uint64_t offset = 0;
  uint64_t length = 0;
  Dims strides = {};   // of the part within the run
  bool dense = false;  // the run has the part's elements only
};
PlainRun PlainRunOf(const codec::ArrayCodec& codec, const Box& part);

struct ReadPlan {
  enum class Method {
    kRun,     // of a plain chunk, the bytes from the first to the last element of the part
    kDirect,  // into the target, decoded or hashed while it is read
    kWhole,   // all stored bytes, then decoded at once
    kSlabs,   // while it is read, slab by slab
  };
  Method method;
  int64_t need = 0;  // bytes
};

// Of a part of a chunk that is no shard.
ReadPlan PlanRead(const codec::ArrayCodec& codec, const ReadTerms& terms, const Wanted& wanted);

// What kWhole would need.
int64_t WholeNeed(const codec::ArrayCodec& codec, const Wanted& wanted);

// How much of a chunk a slab is.  What was decoded stays in the cache until it is taken, and calls
// are few beside the bytes.
int64_t SlabBytes(const codec::ArrayCodec& codec);

// Whether a shard of that size is verified in memory, and not by reading it twice.
bool HoldsShard(const ReadTerms& terms, uint64_t size);

// To read a part of a chunk whose value is `stored`.
int64_t ReadNeed(const ChunkCodec& codec, const ReadTerms& terms, const StoredChunk& stored,
                 const Wanted& wanted);

// To read any part of it.
int64_t MostReadNeed(const ChunkCodec& codec, const ReadTerms& terms);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_READ_METHOD_H_
