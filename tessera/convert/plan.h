// ConvertPlan: what a conversion will do, as plain data.
#ifndef TESSERA_CONVERT_PLAN_H_
#define TESSERA_CONVERT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/chunk_shape.h"
#include "tessera/convert/request.h"
#include "tessera/convert/source.h"
#include "tessera/convert/units.h"
#include "tessera/core/box.h"
#include "tessera/core/hash128.h"
#include "tessera/core/json.h"
#include "tessera/ledger/index_file.h"
#include "tessera/mesh/correction.h"
#include "tessera/safetensors/plan_set.h"
#include "tessera/zarr/metadata.h"

namespace tessera::convert {

// Where a new array lies.
struct TargetPlace {
  // Of a zarr array; the record is what an index says of it.
  ledger::ArrayRecord record = {};
  zarr::Metadata metadata = {};
  checkpoint::ChunkChoice chunk = {};
  // Of a tensor: its file in the set, and its place in that file's header.
  size_t file = 0;
  size_t tensor = 0;
  friend bool operator==(const TargetPlace&, const TargetPlace&) = default;
};

// What a device of the mesh gets that chunks are made for.
struct ShardBasis {
  Dims shape = {};
  std::optional<size_t> rule = {};  // nullopt: none takes the array
  std::vector<mesh::Correction> corrections = {};
  friend bool operator==(const ShardBasis&, const ShardBasis&) = default;
};

// Units [begin, end) of an array.
struct UnitShare {
  int rank = 0;
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const UnitShare&, const UnitShare&) = default;
};

struct ConvertArray {
  size_t number = 0;            // among the source's arrays
  std::string source_key = {};  // as the source shows it
  std::string new_key = {};     // with dots, without the prefix
  std::string prefix = {};      // of a tensorstore target
  std::string rule_key = {};    // what rules are asked about
  ShapeDtype source = {};
  ShapeDtype target = {};
  Dims permutation = {};  // dimension i is dimension permutation[i] of the source; empty: none
  std::optional<ShardBasis> shard = {};
  Dims target_cell = {};  // chunks, or blocks of a tensor
  TargetPlace place = {};
  UnitChoice unit = {};
  std::vector<UnitShare> shares = {};
  friend bool operator==(const ConvertArray&, const ConvertArray&) = default;

  bool casts() const { return source.dtype != target.dtype; }
  // A unit as a box of the new array, and of the old one.
  Box UnitBox(int64_t unit) const;
  Box SourceBox(const Box& box) const;
};

// What a worker has beside its unit, for writing what is not dense and for streaming.
inline constexpr int64_t kRoomBytes = int64_t{1} << 18;

// Memory of one rank.
struct MemoryPlan {
  int64_t units = 0;  // all units in flight together
  int64_t calls = 0;  // stays free for the calls that read and write them, and for their room
  int workers = 1;
  friend bool operator==(const MemoryPlan&, const MemoryPlan&) = default;
};

// A plain value, the same on every rank.
struct ConvertPlan {
  TargetFormat format = TargetFormat::kSafetensors;
  std::string source_state = {};          // another one after the source was changed
  std::vector<ConvertArray> arrays = {};  // in the order of the source
  std::optional<safetensors::SetPlan> set = {};
  int64_t nbytes = 0;  // of all new arrays
  MemoryPlan memory = {};
  std::vector<int64_t> rank_bytes = {};  // of new arrays, by rank

  // Keys of the arrays that no rule takes; none where there are no rules.
  std::vector<std::string> UnmatchedKeys() const;
  // "KEY: dimension 0: 'tp' -> None (does not divide)".
  std::vector<std::string> Corrections() const;

  // One line an array.
  std::string Text() const;
  // Of everything but who does it.
  Hash128 Digest() const;
};
Json ToJson(const ConvertPlan& plan);

struct PlanFacts {
  int64_t budget_bytes = int64_t{1} << 30;  // of each rank
  int workers = 4;                          // threads of each rank
  int ranks = 1;
};

// InvalidArgument, naming every key: two arrays that get one key or lie in one another, a new key
// with an empty part or without its prefix, an array that cannot be transposed as asked or cast, a
// spec with an axis that the mesh lacks or has twice; or a wrong pattern or option.  Unimplemented,
// naming every key, for dtypes that the format lacks. NotFound when no array is left.
// ResourceExhausted, naming the key, when the budget cannot hold what one array needs.
absl::StatusOr<ConvertPlan> PlanConvert(const ConvertSource& source, const ConvertRequest& request,
                                        const PlanFacts& facts);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PLAN_H_
