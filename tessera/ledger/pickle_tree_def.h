// JAX's tree definitions as JAX pickles them, read and written without Python.
//
// The pickle holds the nodes in postorder, each a tuple of kind, child count, data, type, leaf
// count and node count (PICKLES.md).  It names types but not their
// fields, so a named tuple or record comes back with its children called "0", "1", ...; who knows
// the leaves' key paths can give them their names (structure_file.h).  A type is the text
// "module:qualified name".  The factory of a default dict is the name of a builtin type, or "" for
// None.
#ifndef TESSERA_LEDGER_PICKLE_TREE_DEF_H_
#define TESSERA_LEDGER_PICKLE_TREE_DEF_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/tree/structure.h"

namespace tessera::ledger {

// Unimplemented, with the opcode, the global or the node, for anything but None, dicts, lists,
// tuples, ordered and default dicts, named tuples, and records without static fields: other nodes
// hold objects of Python.  DataLoss when the bytes contradict themselves, and for a tree deeper
// than trees may be.
absl::StatusOr<tree::Structure> DecodeTreeDef(std::span<const std::byte> pickle);

// What JAX unpickles to the definition of that tree.  Unimplemented for custom nodes, records with
// static fields, factories that are no builtin, and for a type that is not of the form above: only
// a type that was read before can be named so that Python finds it.  InvalidArgument for a tree
// that is too deep.
//
// eformer takes None for a leaf, so a structure for its files must have leaves in these places
// (WalkOptions::none_is_leaf).
absl::StatusOr<std::vector<std::byte>> EncodeTreeDef(const tree::Structure& structure);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_TREE_DEF_H_
