// The structure of a saved tree: its containers, and what stood at each leaf.
//
// The index keeps it as JSON beside its list of arrays, so that a load gives back lists, tuples,
// records and plain values, where the list alone would make dicts of text keys of everything.
#ifndef TESSERA_LEDGER_STRUCTURE_H_
#define TESSERA_LEDGER_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "tessera/tree/scalar.h"
#include "tessera/tree/tree.h"

namespace tessera::ledger {

// An array: its place in the prefix's list of records.
struct ArrayLeaf {
  int64_t record = 0;
  friend bool operator==(const ArrayLeaf&, const ArrayLeaf&) = default;
};

// A value that could not be kept.
struct OpaqueLeaf {
  std::string type_name;
  friend bool operator==(const OpaqueLeaf&, const OpaqueLeaf&) = default;
};

using SavedLeaf = std::variant<ArrayLeaf, tree::Scalar, OpaqueLeaf>;
using SavedTree = tree::Tree<SavedLeaf>;

// One JSON value on one line; layout: FORMAT.md, "Structure".  Floats come back bit for bit, NaN
// and infinities as well, and dicts in the order their items were given in.  InvalidArgument for
// text that is not UTF-8 and for a tree deeper than trees may be (tree::kDefaultMaxDepth).
absl::StatusOr<std::string> EncodeStructure(const SavedTree& tree);

// InvalidArgument, naming the place, for what EncodeStructure does not make, for a tree deeper than
// trees may be, and unless the arrays are numbered 0, 1, 2, ... `records` - 1 in leaf order.
absl::StatusOr<SavedTree> DecodeStructure(std::string_view text, int64_t records);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_STRUCTURE_H_
