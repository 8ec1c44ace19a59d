// The arrays that a checkpoint says it has, before any of them is looked at.
#ifndef TESSERA_CHECKPOINT_OPEN_ENTRIES_H_
#define TESSERA_CHECKPOINT_OPEN_ENTRIES_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/index_records.h"
#include "tessera/core/shape.h"
#include "tessera/ledger/index_file.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// What an index says of an array, beside where it lies.
struct IndexedArray {
  Dims shape;
  std::string dtype;
};

struct ArrayEntry {
  std::vector<std::string> key;  // components, without the prefix
  std::string path;              // in the store; empty: its root
  std::optional<IndexedArray> record = {};
  std::string metadata_name = {};  // of the document that was found; empty: any
};

// Whether a key is one of these, or lies below one.
bool IsBelow(std::string_view key, std::span<const std::string> folders);

struct Entries {
  std::string prefix;
  std::vector<ArrayEntry> arrays;
  // Of one prefix, where all its records became entries in the same order.
  std::optional<ledger::SavedTree> structure = {};
};

// What RecordsOfIndex gives, as values that do not look at the index.  Errors of it.
absl::StatusOr<Entries> EntriesOfIndex(const ledger::TensorstoreIndex& index,
                                       std::string_view prefix, bool all_prefixes);

// Those whose metadata is in the listing below `prefix`, by path, without what lies below
// `unfinished`.
// Groups are among them: who reads the document tells.  Unimplemented for an OCDBT store, NotFound
// when there is no array.
absl::StatusOr<Entries> EntriesOfListing(const store::KvStore& store,
                                         std::span<const store::ListEntry> listing,
                                         std::string_view prefix, bool all_prefixes,
                                         std::span<const std::string> unfinished);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_OPEN_ENTRIES_H_
