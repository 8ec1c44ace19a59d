// What eformer's modules need of checkpoints beside saving and loading: stored paths, and the
// structure files that eformer keeps pickles in.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle_tree_def.h"
#include "tessera/ledger/structure_file.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_tree.h"
#include "tessera/python/py_value.h"
#include "tessera/steps/pytree_file.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/stored_path.h"
#include "tessera/tree/structure.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

nb::bytes EncodeTreeDef(nb::handle tree) {
  const PythonTree python = FromPython(tree, {.none_is_leaf = true});
  const auto pickle = Unwrap(ledger::EncodeTreeDef(Unwrap(tree::StructureOf(python.tree))));
  return nb::bytes(reinterpret_cast<const char*>(pickle.data()), pickle.size());
}

void CheckValues(const ledger::SavedTree& tree) {
  const auto flat = Unwrap(tree::FlattenWithPath(tree));
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    const auto* opaque = std::get_if<ledger::OpaqueLeaf>(&flat.leaves[i]->leaf());
    if (opaque == nullptr) continue;
    Raise(InvalidArgument(flat.paths[i].Dotted(), ": its value is a pickle of ", opaque->type_name,
                          ", which is not loaded; give a template"));
  }
}

// The tree that a structure file describes, and why it has dicts in place of its containers.
std::pair<nb::object, std::optional<std::string>> RebuildPytree(
    const std::string& text, const std::string& prefix, const std::vector<nb::object>& arrays) {
  const auto structure = Unwrap(ledger::DecodeStructureFile(text, prefix));
  const size_t wanted = structure.array_paths.size();
  if (arrays.size() != wanted) {
    Raise(InvalidArgument("the structure has ", wanted, " arrays, not ", arrays.size()));
  }
  const ledger::RebuiltTree rebuilt = Unwrap(ledger::RebuildTree(structure));
  CheckValues(rebuilt.tree);
  nb::object tree = ToPython(rebuilt.tree, TreeShapes(), [&](const ledger::SavedLeaf& leaf) {
    const auto* array = std::get_if<ledger::ArrayLeaf>(&leaf);
    if (array != nullptr) return arrays.at(static_cast<size_t>(array->record));
    return ObjectOf(steps::SavedValue(leaf));
  });
  return {std::move(tree), rebuilt.without_treedef};
}

}  // namespace

void BindSteps(nb::module_& module) {
  module.def(
      "encode_stored_path",
      [](const std::vector<std::string>& components) {
        return Unwrap(tree::EncodeStoredPath(components));
      },
      nb::arg("components"), "Where the array of a key lies below its checkpoint.");
  module.def("encode_tree_def", &EncodeTreeDef, nb::arg("tree").none(),
             "JAX's pickle of the tree's definition, None counted as a leaf, made without JAX.");
  module.def("rebuild_pytree", &RebuildPytree, nb::arg("text"), nb::arg("prefix"),
             nb::arg("arrays"));
}

}  // namespace tessera::python
