// The structure of a saved tree as a part of a larger JSON document.
#ifndef TESSERA_LEDGER_STRUCTURE_JSON_H_
#define TESSERA_LEDGER_STRUCTURE_JSON_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/ledger/json_document.h"
#include "tessera/ledger/json_writer.h"
#include "tessera/ledger/structure.h"

namespace tessera::ledger {

// InvalidArgument for a tree deeper than ReadStructure takes.
absl::Status CheckDepth(const SavedTree& tree);

void WriteStructure(const SavedTree& tree, JsonWriter& out);

// InvalidArgument for what WriteStructure does not make of a tree that CheckDepth accepts.  The
// numbers of its arrays are not looked at.
absl::StatusOr<SavedTree> ReadStructure(JsonValue json);

// InvalidArgument unless the arrays are numbered 0, 1, 2, ... `records` - 1 in leaf order.
absl::Status CheckNumbering(const SavedTree& tree, int64_t records);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_STRUCTURE_JSON_H_
