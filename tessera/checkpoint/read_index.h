// What an index says of arrays, without a look at them.
#ifndef TESSERA_CHECKPOINT_READ_INDEX_H_
#define TESSERA_CHECKPOINT_READ_INDEX_H_

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

struct ListedByIndex {
  std::string name;  // with dots
  ShapeDtype array;
};

struct IndexListing {
  std::vector<std::string> prefixes;
  std::vector<ListedByIndex> arrays;
};

// For who wants to know what there is and not whether it is true: metadata and manifest, which
// Checkpoint::Open holds against the index, are not read.  nullopt: there is no index of
// tensorstore.  Errors of DecodeIndexFile and RecordsOfIndex; InvalidArgument for a dtype that is
// not known.
absl::StatusOr<std::optional<IndexListing>> ReadIndex(store::KvStore& store,
                                                      std::string_view prefix, bool all_prefixes,
                                                      std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_READ_INDEX_H_
