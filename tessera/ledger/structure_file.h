// <prefix>_structure.json: what eformer's save_pytree writes beside the arrays of a prefix, so that
// a load gives back containers and plain values.
//
// eformer keeps JAX's tree definition and every leaf that is no array as pickles.  Here they are
// read as data (pickle.h); what cannot be read so is kept as it is, and never run.  eformer counts
// None as a leaf.
#ifndef TESSERA_LEDGER_STRUCTURE_FILE_H_
#define TESSERA_LEDGER_STRUCTURE_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/ledger/structure.h"

namespace tessera::ledger {

// The whole file.
struct PytreeStructure {
  std::string version = {};                  // of the package that wrote it; information
  std::string backend = "tensorstore";       // arrays are zarr whatever it says
  std::string prefix = {};                   // empty: none
  std::string treedef_base64 = {};           // of a pickled tree definition; empty: none
  std::vector<std::string> leaf_keys = {};   // dotted, prefix included, of every leaf in leaf order
  std::vector<bool> is_array = {};           // by leaf
  std::vector<std::string> array_keys = {};  // those of leaf_keys that are of arrays
  std::vector<std::string> array_paths = {};  // by array, from the checkpoint's root
  // Base64 of the pickled value of each other leaf, by the leaf's position.
  std::map<size_t, std::string> values_base64 = {};
  // A JSON object as it was written; NaN and infinities may stand as Python writes them.
  std::string extras = "{}";
  friend bool operator==(const PytreeStructure&, const PytreeStructure&) = default;
};

// "model_structure.json"; "pytree_structure.json" without a prefix.
std::string StructureFileName(std::string_view prefix);

// More is refused.
inline constexpr size_t kMaxStructureFileBytes = size_t{256} << 20;
inline constexpr size_t kMaxExtrasBytes = size_t{1} << 20;

// InvalidArgument, naming the field, for what is no such file, bad Base64 and paths that lead out
// of the checkpoint; FailedPrecondition when the file is of another prefix than `prefix`, its lists
// do not fit one another or a leaf that is no array has no value.
absl::StatusOr<PytreeStructure> DecodeStructureFile(std::string_view text, std::string_view prefix);

// The file as Python's json.dumps(indent=2) writes it.  InvalidArgument when `extras` is no JSON
// object or a text is no UTF-8.
absl::StatusOr<std::string> EncodeStructureFile(const PytreeStructure& structure);

// The file of a tree whose i-th array record has the path array_paths[i].  Unimplemented, naming
// the place, for a container that Python would not find again (pickle_tree_def.h) and for a value
// that could not be kept; InvalidArgument for two leaves of one dotted key, and unless the arrays
// are numbered 0, 1, 2, ... in leaf order.
absl::StatusOr<PytreeStructure> MakePytreeStructure(const SavedTree& tree, std::string_view prefix,
                                                    std::span<const std::string> array_paths);

// The tree that a file describes.
struct RebuiltTree {
  SavedTree tree;
  // Set where the tree definition could not be used, with the reason: `tree` is then made of nested
  // dicts, by the dotted keys.
  std::optional<std::string> without_treedef = {};
};

// An array's record is its place in array_paths.  A value that is no plain one becomes an
// OpaqueLeaf.  The fields of named tuples and records get the names that the leaf keys tell; one
// that holds no leaf keeps its position as its name.  FailedPrecondition when the leaf keys make no
// tree either, as one lies inside another.
absl::StatusOr<RebuiltTree> RebuildTree(const PytreeStructure& structure);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_STRUCTURE_FILE_H_
