// Trees: key paths of leaves, and taking trees apart and putting them together again.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/node_hook.h"
#include "tessera/python/py_tree.h"
#include "tessera/tree/flat_map.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/leaf_key_paths.h"
#include "tessera/tree/map.h"
#include "tessera/tree/structure.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

// A tree taken apart: its leaves in canonical order, their names, and the way back.
class FlatTree {
 public:
  FlatTree(nb::handle object, const FromPythonOptions& options)
      : python_(FromPython(object, options)), flat_(Unwrap(tree::FlattenWithPath(python_.tree))) {}

  nb::list leaves() const {
    nb::list leaves;
    for (const ObjectTree* node : flat_.leaves) leaves.append(node->leaf());
    return leaves;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& path : flat_.paths) keys.push_back(path.Dotted());
    return keys;
  }
  std::vector<std::vector<std::string>> components() const {
    std::vector<std::vector<std::string>> components;
    for (const auto& path : flat_.paths) components.push_back(path.Components());
    return components;
  }

  nb::object Unflatten(const std::vector<nb::object>& leaves) const {
    if (leaves.size() != flat_.leaves.size()) {
      Raise(InvalidArgument("the tree has ", flat_.leaves.size(), " leaves, not ", leaves.size()));
    }
    size_t next = 0;
    return ToPython(python_.tree, *python_.shapes,
                    [&](const nb::object&) { return leaves[next++]; });
  }

  std::optional<std::string> Difference(const FlatTree& other) const {
    return tree::FirstDifference(python_.tree, other.python_.tree, {});
  }

 private:
  PythonTree python_;
  tree::FlattenedWithPath<nb::object> flat_;
};

nb::object LeafKeyPaths(nb::handle object, std::optional<std::string> prefix, nb::object is_leaf) {
  const PythonTree python = FromPython(object, {.is_leaf = std::move(is_leaf)});
  const auto paths = Unwrap(tree::LeafKeyPaths(python.tree, prefix));
  return ToPython(paths, *python.shapes, [](const std::string& path) { return nb::cast(path); });
}

nb::dict FlattenForBroadcast(nb::handle object) {
  const PythonTree python = FromPython(object);
  nb::dict result;
  for (const auto& [name, value] : Unwrap(tree::FlattenForBroadcast(python.tree))) {
    result[name.c_str()] =
        ToPython(value, *python.shapes, [](const nb::object& leaf) { return leaf; });
  }
  return result;
}

nb::object UnflattenDict(const nb::dict& flat, const std::string& separator) {
  tree::FlatMap<nb::object> items;
  for (const auto [key, value] : flat) {
    items.emplace_back(nb::cast<std::string>(nb::str(key)), ObjectTree::Leaf(nb::borrow(value)));
  }
  const auto nested = Unwrap(tree::UnflattenDict(items, separator));
  return ToPython(nested, TreeShapes(), [](const nb::object& leaf) { return leaf; });
}

}  // namespace

void BindTree(nb::module_& module) {
  module.def("set_flatten_node", [](nb::object f) { SetHook(Hook::kFlattenNode, std::move(f)); });
  module.def("set_make_node", [](nb::object f) { SetHook(Hook::kMakeNode, std::move(f)); });
  module.def("set_describe_leaf", [](nb::object f) { SetHook(Hook::kDescribeLeaf, std::move(f)); });

  nb::class_<FlatTree>(module, "FlatTree", "A tree taken apart.")
      .def(
          "__init__",
          [](FlatTree* self, nb::handle object, nb::object is_leaf, bool none_is_leaf) {
            new (self)
                FlatTree(object, {.is_leaf = std::move(is_leaf), .none_is_leaf = none_is_leaf});
          },
          nb::arg("tree").none(), nb::arg("is_leaf") = nb::none(), nb::arg("none_is_leaf") = false)
      .def_prop_ro("leaves", &FlatTree::leaves, "In canonical order.")
      .def_prop_ro("keys", &FlatTree::keys, "The dotted key of each leaf.")
      .def_prop_ro("components", &FlatTree::components, "The parts of each key.")
      .def("unflatten", &FlatTree::Unflatten, nb::arg("leaves"),
           "The tree with other leaves.  ValueError unless there are as many.")
      .def("difference", &FlatTree::Difference, nb::arg("other"),
           "The first difference between two structures; None: there is none.");

  module.def("leaf_key_paths", &LeafKeyPaths, nb::arg("tree").none(),
             nb::arg("prefix") = nb::none(), nb::arg("is_leaf") = nb::none());
  module.def(
      "join_key",
      [](std::optional<std::string> prefix, std::optional<std::string> key) {
        return tree::JoinKey(prefix, key);
      },
      nb::arg("prefix").none(), nb::arg("key").none());
  module.def("flatten_for_broadcast", &FlattenForBroadcast, nb::arg("state"));
  module.def("unflatten_dict", &UnflattenDict, nb::arg("flat"), nb::arg("separator") = ".");
}

}  // namespace tessera::python
