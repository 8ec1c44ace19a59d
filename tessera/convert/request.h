// What a caller may ask of a conversion.
#ifndef TESSERA_CONVERT_REQUEST_H_
#define TESSERA_CONVERT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"
#include "tessera/safetensors/plan_set.h"

namespace tessera::convert {

enum class TargetFormat {
  kTensorstore,  // zarr v2 arrays and an index, as eformer and JAX read them
  kSafetensors,  // one file, or many and their index
  kZarr2,        // a folder of zarr arrays without an index
  kZarr3,
};

// "tensorstore", "safetensors", "zarr2", "zarr3".
std::string_view TargetFormatName(TargetFormat format);
// InvalidArgument with the known names.
absl::StatusOr<TargetFormat> ParseTargetFormat(std::string_view name);

// Chunks for a load on this mesh: no chunk reaches over the border of a shard, so that every device
// reads what it keeps and nothing else.  Rules match new keys with slashes, behind their prefix
// where the source shows those.  The axes of a spec that do not divide are dropped, as a load with
// auto_correct does it; an array that no rule takes is on every device as a whole.
struct ShardChunks {
  mesh::Mesh mesh;
  std::vector<mesh::PartitionRule> rules;
};

// What the destination is.
struct Target {
  TargetFormat format = TargetFormat::kSafetensors;

  // Tensorstore: the prefix that all arrays get.  nullopt: each keeps the one that it has.
  std::optional<std::string> prefix = {};

  // Safetensors.  A destination that ends in ".safetensors" is a file when there is no limit to its
  // size, and is called as it is; else it is a folder, and the stem of its files is `stem`.
  std::string stem = "model";
  std::optional<int64_t> shard_bytes = {};
  safetensors::Packing packing = safetensors::Packing::kInOrder;
  // In every header, over what the headers of a safetensors source have.
  std::vector<std::pair<std::string, std::string>> metadata = {};

  // Zarr.  The most bytes of a chunk; smaller where the memory asks for it.
  int64_t chunk_bytes = int64_t{64} << 20;
  std::optional<ShardChunks> shards = {};
  checkpoint::CodecList codec = checkpoint::JaxCodec();
  // Arrays that are compressed already, or stored plainly as zarr arrays, stay so where the format
  // has their codecs; `codec` is for the others.
  bool keep_codec = false;
};

// Every match of `pattern` becomes `replacement`, as Python's re.sub does it.
struct RenameRule {
  std::string pattern;
  std::string replacement;
  friend bool operator==(const RenameRule&, const RenameRule&) = default;
};

// Dimension i of the new array is dimension permutation[i] of the old one; without a permutation
// the last two change places.
struct TransposeRule {
  std::string pattern;
  std::optional<Dims> permutation = {};
  friend bool operator==(const TransposeRule&, const TransposeRule&) = default;
};

// Patterns are Python's, searched for in the key with dots.  A source with several prefixes shows
// keys that begin with their prefix, unless `source_prefix` chooses one.  A target without prefixes
// has those keys.  A tensorstore target keeps the prefixes: a key's new name must begin with the
// prefix still, which is then taken off; with `target.prefix` all keys go there as they are shown.
struct ConvertRequest {
  Target target = {};
  std::optional<std::string> source_prefix = {};
  std::optional<std::string> match = {};       // keys without a match are left out
  std::vector<RenameRule> renames = {};        // one after the other
  std::vector<TransposeRule> transposes = {};  // the first that matches the old key counts
  std::optional<DType> float_dtype = {};       // floating-point arrays become this
  bool overwrite = false;                      // replaces what is at the destination
  bool verify = true;  // reads everything back and compares hashes of the elements
  bool resume = true;  // goes on where the same conversion was interrupted
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_REQUEST_H_
