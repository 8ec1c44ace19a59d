// Stored values in the JSON of manifests and indexes.
#ifndef TESSERA_LEDGER_STORED_RECORD_JSON_H_
#define TESSERA_LEDGER_STORED_RECORD_JSON_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/ledger/json_document.h"
#include "tessera/ledger/json_writer.h"
#include "tessera/ledger/manifest.h"

namespace tessera::ledger {

// ["0.0", 128, "<32 digits>"].
void WriteStoredRow(const StoredRecord& record, JsonWriter& out);

// A list of rows.  InvalidArgument for unsafe names and for one that stands twice.
absl::StatusOr<std::vector<StoredRecord>> ReadStoredRows(JsonValue list);

absl::StatusOr<Hash128> HashField(JsonValue object, std::string_view name);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_STORED_RECORD_JSON_H_
