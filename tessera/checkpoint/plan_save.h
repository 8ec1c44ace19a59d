// SavePlan: which arrays a save makes of a tree, and which rank writes what of them.
#ifndef TESSERA_CHECKPOINT_PLAN_SAVE_H_
#define TESSERA_CHECKPOINT_PLAN_SAVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/chunk_shape.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/core/box.h"
#include "tessera/core/hash128.h"
#include "tessera/core/json.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/structure.h"
#include "tessera/safetensors/plan_set.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {

// Chunks that one rank writes: a box of whole ones, within one shard.  Blocks of safetensors files
// may reach over shards, so there a part may have a piece of one.
struct PlannedPart {
  Box box;
  int rank = 0;
  // Whose shard they are taken from; nullopt: an array in host memory.
  std::optional<int64_t> device_id = {};
  friend bool operator==(const PlannedPart&, const PlannedPart&) = default;
};

struct PlannedArray {
  std::string key;  // dotted, without the prefix
  ledger::ArrayRecord record = {};
  DType source_dtype = DType::kFloat32;
  // As it is stored; without codecs as long as they are to be chosen.  Of a tensor in a safetensors
  // file shape, dtype and, for its blocks, chunk shape count alone.
  zarr::Metadata metadata = {};
  ChunkChoice chunk = {};
  std::vector<PlannedPart> parts = {};  // no elements: none
  int metadata_rank = 0;                // who writes its metadata
  friend bool operator==(const PlannedArray&, const PlannedArray&) = default;
};

struct RankLoad {
  int64_t bytes = 0;  // of the chunks in memory
  int64_t chunks = 0;
  friend bool operator==(const RankLoad&, const RankLoad&) = default;
};

// A plain value, the same on every rank.
struct SavePlan {
  std::string prefix;                // empty: none
  std::vector<PlannedArray> arrays;  // in leaf order, as in the index
  // The files, when the format is safetensors; places are in the order of the arrays.
  std::optional<safetensors::SetPlan> set = {};
  bool codecs_open = false;  // SetCodecs is still to be called
  // nullopt: the keys of the arrays say it all, as with nested dicts.
  std::optional<ledger::SavedTree> structure = {};
  bool keeps_values = false;  // there are leaves beside arrays that the structure keeps
  std::vector<LostLeaf> lost = {};
  int64_t nbytes = 0;           // of all arrays, as stored
  std::vector<RankLoad> ranks;  // by rank
  friend bool operator==(const SavePlan&, const SavePlan&) = default;

  // One line an array, its parts below.
  std::string Text() const;
};
Json ToJson(const SavePlan& plan);

// Each part belongs to a rank that holds it.  Replicas share the work: whoever has the least so far
// takes the next chunk, larger arrays first.  Arrays in host memory are rank 0's.
//
// InvalidArgument, naming the keys, when two leaves would be stored in one place or one inside the
// other, when a name is too long, when a device belongs to no rank; and for a single array without
// a prefix, which would lie among the checkpoint's own files.  Unimplemented, naming every key, for
// dtypes that the format lacks.  As safetensors also: InvalidArgument for a prefix, for codecs, and
// for keys that are one when dots join their components; Unimplemented for elements under a byte
// of which several ranks would write parts of one byte.  REQUIRES: ranks > 0.
absl::StatusOr<SavePlan> PlanSave(const array::ValueTree& tree, const PlanOptions& options,
                                  int ranks);

// The codecs of all arrays of one dtype.
struct DTypeCodec {
  DType dtype = DType::kFloat32;  // as stored
  CodecList codecs = {};
  friend bool operator==(const DTypeCodec&, const DTypeCodec&) = default;
};

// Fills in what AutoCodec has left open.  Dtypes that are not listed get JAX's.
void SetCodecs(SavePlan& plan, const std::vector<DTypeCodec>& choices);

// Of everything in the plan that the ranks must agree on.
Hash128 DigestOf(const SavePlan& plan);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_SAVE_H_
