#include "tessera/checkpoint/read_index.h"

#include "tessera/checkpoint/index_records.h"
#include "tessera/commit/view.h"
#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace tessera::checkpoint {

absl::StatusOr<std::optional<IndexListing>> ReadIndex(store::KvStore& store,
                                                      std::string_view prefix, bool all_prefixes,
                                                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(store, stop));
  if (!view.index_text.has_value()) return std::nullopt;
  const std::string where = view.store->Describe(ledger::kIndexName);
  const auto index = ledger::DecodeIndexFile(view.index_text->text());
  if (!index.ok()) return Prefixed(index.status(), where);
  const auto used = RecordsOfIndex(*index, prefix, all_prefixes);
  if (!used.ok()) return Prefixed(used.status(), where);
  IndexListing listing{PrefixesOf(*index), {}};
  ReserveLarge(listing.arrays, used->records.size());
  for (const UsedRecord& array : used->records) {
    std::string name = DottedKey(array.key);
    const auto dtype = ParseDType(array.record->dtype);
    if (!dtype.ok()) return Prefixed(dtype.status(), Concat(where, ": ", name));
    listing.arrays.push_back({std::move(name), {array.record->shape, *dtype}});
  }
  return listing;
}

}  // namespace tessera::checkpoint
