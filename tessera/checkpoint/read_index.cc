#include "tessera/checkpoint/read_index.h"

#include "tessera/checkpoint/open_entries.h"
#include "tessera/commit/view.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace tessera::checkpoint {

absl::StatusOr<std::optional<IndexListing>> ReadIndex(store::KvStore& store,
                                                      std::string_view prefix, bool all_prefixes,
                                                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(store, stop));
  if (!view.index_text.has_value()) return std::nullopt;
  const std::string where = view.store->Describe(ledger::kIndexName);
  const auto index = ledger::DecodeIndexFile(*view.index_text);
  if (!index.ok()) return Prefixed(index.status(), where);
  const auto entries = EntriesOfIndex(*index, prefix, all_prefixes);
  if (!entries.ok()) return Prefixed(entries.status(), where);
  IndexListing listing{PrefixesOf(*index), {}};
  listing.arrays.reserve(entries->arrays.size());
  for (const ArrayEntry& entry : entries->arrays) {
    std::string name = DottedKey(entry.key);
    const auto dtype = ParseDType(entry.record->dtype);
    if (!dtype.ok()) return Prefixed(dtype.status(), Concat(where, ": ", name));
    listing.arrays.push_back({std::move(name), {entry.record->shape, *dtype}});
  }
  return listing;
}

}  // namespace tessera::checkpoint
