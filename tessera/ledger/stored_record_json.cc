#include "tessera/ledger/stored_record_json.h"

#include <unordered_set>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/paths.h"

namespace tessera::ledger {
namespace {

absl::StatusOr<Hash128> ToHash(JsonValue value) {
  TESSERA_ASSIGN_OR_RETURN(const std::string digits, ToText(value));
  const absl::StatusOr<Hash128> hash = Hash128::FromHex(digits);
  if (!hash.ok()) return Prefixed(hash.status(), "");
  return hash;
}

absl::StatusOr<StoredRecord> ReadStoredRow(JsonValue row) {
  size_t count = 0;
  for ([[maybe_unused]] const JsonValue item : row.items()) ++count;
  if (!row.is(JsonKind::kArray) || count != 3) {
    return InvalidArgument(": expected a list of name, size and hash");
  }
  const JsonValue name = *row.items().begin();
  StoredRecord record;
  TESSERA_ASSIGN_OR_RETURN(record.name, ToText(name));
  TESSERA_RETURN_IF_ERROR(Prefixed(CheckSafeFile(record.name), ""));
  TESSERA_ASSIGN_OR_RETURN(const int64_t size, ToSize(name.Next()));
  record.size = static_cast<uint64_t>(size);
  TESSERA_ASSIGN_OR_RETURN(record.hash, ToHash(name.Next().Next()));
  return record;
}

absl::Status CheckNamesDiffer(const std::vector<StoredRecord>& records) {
  if (records.size() < 2) return absl::OkStatus();
  std::unordered_set<std::string_view> names;
  for (const StoredRecord& record : records) {
    if (names.insert(record.name).second) continue;
    return InvalidArgument(": the name ", Quoted(record.name), " stands twice");
  }
  return absl::OkStatus();
}

}  // namespace

void WriteStoredRow(const StoredRecord& record, JsonWriter& out) {
  out.BeginArray();
  out.String(record.name);
  out.Unsigned(record.size);
  out.Hash(record.hash);
  out.EndArray();
}

absl::StatusOr<std::vector<StoredRecord>> ReadStoredRows(JsonValue list) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(list, JsonKind::kArray));
  std::vector<StoredRecord> records;
  for (const JsonValue item : list.items()) {
    absl::StatusOr<StoredRecord> record = ReadStoredRow(item);
    if (!record.ok()) return Inside(record.status(), Concat("[", records.size(), "]"));
    records.push_back(*std::move(record));
  }
  TESSERA_RETURN_IF_ERROR(CheckNamesDiffer(records));
  return records;
}

absl::StatusOr<Hash128> HashField(JsonValue object, std::string_view name) {
  TESSERA_ASSIGN_OR_RETURN(const JsonValue value, Field(object, name));
  absl::StatusOr<Hash128> hash = ToHash(value);
  if (!hash.ok()) return Inside(hash.status(), name);
  return hash;
}

}  // namespace tessera::ledger
