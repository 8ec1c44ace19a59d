// Which arrays go into which file of a sharded set.
#ifndef TESSERA_SAFETENSORS_SHARD_LAYOUT_H_
#define TESSERA_SAFETENSORS_SHARD_LAYOUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::safetensors {

struct SizedKey {
  std::string key;
  int64_t bytes = 0;
};

struct ShardLayout {
  std::vector<std::vector<std::string>> shards;
  std::vector<std::string> oversize;  // keys larger than a shard may be; each sits alone
};

// Packs greedily in the order given: a shard is closed when the next key would exceed `max_bytes`.
// InvalidArgument unless max_bytes > 0 and no size is negative.
absl::StatusOr<ShardLayout> GroupKeysByShardSize(std::span<const SizedKey> keys, int64_t max_bytes);

// How OptimizeShardLayout orders the parents.
enum class ParentOrder {
  kNatural,    // numbers by value, so that layers.2 comes before layers.10; keys without a parent
               // first
  kCodePoint,  // as eformer does: plain text order, and keys without a parent count as "root"
};

// Packs so that keys of one parent (the text before the last dot) stay together where they fit.
// Errors as above.
absl::StatusOr<ShardLayout> OptimizeShardLayout(std::span<const SizedKey> keys, int64_t max_bytes,
                                                ParentOrder order = ParentOrder::kNatural);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_SHARD_LAYOUT_H_
