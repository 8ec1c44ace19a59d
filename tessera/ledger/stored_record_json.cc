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

absl::Status ReadStoredRow(JsonValue row, StoredRecord& record) {
  if (!IsListOf(row, 3)) return InvalidArgument(": expected a list of name, size and hash");
  const JsonValue name = *row.items().begin();
  TESSERA_RETURN_IF_ERROR(ReadText(name, record.name));
  TESSERA_RETURN_IF_ERROR(Prefixed(CheckSafeFile(record.name), ""));
  TESSERA_ASSIGN_OR_RETURN(const int64_t size, ToSize(name.Next()));
  record.size = static_cast<uint64_t>(size);
  TESSERA_ASSIGN_OR_RETURN(record.hash, ToHash(name.Next().Next()));
  return absl::OkStatus();
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
  // A row has as many values: itself, name, size and hash.
  constexpr size_t kValuesPerRow = 4;
  records.reserve(list.value_count() / kValuesPerRow);
  for (const JsonValue item : list.items()) {
    const absl::Status status = ReadStoredRow(item, records.emplace_back());
    if (!status.ok()) return Inside(status, Concat("[", records.size() - 1, "]"));
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
