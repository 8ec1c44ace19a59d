// Chunks that follow the shards of a mesh, and codecs that stay as they are.
#ifndef TESSERA_CONVERT_PLAN_CHUNKS_H_
#define TESSERA_CONVERT_PLAN_CHUNKS_H_

#include <vector>

#include "absl/status/status.h"
#include "tessera/checkpoint/checkpoint_array.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/request.h"

namespace tessera::convert {

// Sets the shard of every array.  InvalidArgument, naming every key, for a spec that cannot be
// bound to the mesh; FailedPrecondition of kind no_mesh for the empty mesh; errors of MatchLeaves.
absl::Status PlanShards(const ShardChunks& shards, std::vector<ConvertArray>& arrays);

// What chunks of a new array are compressed with.
checkpoint::CodecList CodecOf(const Target& target, const checkpoint::CheckpointArray& source,
                              const zarr::Metadata& metadata);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PLAN_CHUNKS_H_
