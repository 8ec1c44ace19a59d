// The records of an index that are used: where each array lies and what it is called.
//
// Everything here comes from a file that anybody may have written: paths are checked before they
// are used as keys of a store.  There may be very many, so nothing is copied: all of it looks at
// the index, which must outlive it.
#ifndef TESSERA_CHECKPOINT_INDEX_RECORDS_H_
#define TESSERA_CHECKPOINT_INDEX_RECORDS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/ledger/index_file.h"

namespace tessera::checkpoint {

// That an index lists, "" for arrays without one.
std::vector<std::string> PrefixesOf(const ledger::TensorstoreIndex& index);

struct UsedRecord {
  const ledger::ArrayRecord* record;
  std::string_view path;  // in the store; empty: its root
  ledger::KeyView key;
};

struct UsedRecords {
  std::string prefix;
  std::vector<UsedRecord> records;
  bool keys_are_paths = true;  // split at slashes, so that they differ as the paths do
  bool is_whole = true;        // no record was left out as a later one has its key
};

// The path of a record as a key of the store; "." is the root.  InvalidArgument for a path that is
// absolute or has an empty part, ".", "..", NUL, a lock's name, backslashes and no slash, or the
// folder that tessera keeps for itself.
absl::StatusOr<std::string_view> SafePath(std::string_view path);

// Those that the index lists for `prefix`, or for all with keys that begin with their prefix.  Of
// two records of one key the later one counts.  InvalidArgument, naming the entry, for an unsafe
// path; for paths that are equal or lie in one another; and with the known prefixes when there is
// no such one, or none was chosen and the index has no list without one.
absl::StatusOr<UsedRecords> RecordsOfIndex(const ledger::TensorstoreIndex& index,
                                           std::string_view prefix, bool all_prefixes);

// As messages call an array.
std::string DottedKey(std::span<const std::string> key);
std::string DottedKey(std::span<const std::string_view> key);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_INDEX_RECORDS_H_
