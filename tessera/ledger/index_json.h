// The parts of an index in JSON: what its reader, its writer and the record of a commit share.
#ifndef TESSERA_LEDGER_INDEX_JSON_H_
#define TESSERA_LEDGER_INDEX_JSON_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/json_document.h"
#include "tessera/ledger/json_writer.h"

namespace tessera::ledger {

inline constexpr int64_t kIndexSchema = 1;

absl::StatusOr<TensorstoreIndex> ReadIndex(JsonValue root);

absl::StatusOr<std::vector<ArrayRecord>> ReadRecords(JsonValue list);
void WriteRecords(std::span<const ArrayRecord> records, JsonWriter& out);

// The numbers of the structure's arrays are not looked at.
absl::StatusOr<PrefixNote> ReadNote(JsonValue object);
void WriteNote(const PrefixNote& note, JsonWriter& out);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_INDEX_JSON_H_
