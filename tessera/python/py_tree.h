// Python's nested containers as trees, and trees as Python's containers.
#ifndef TESSERA_PYTHON_PY_TREE_H_
#define TESSERA_PYTHON_PY_TREE_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/tree/tree.h"

namespace tessera::python {

using ObjectTree = tree::Tree<nanobind::object>;

// What a definition does not say of the container that it came from.
struct NodeShape {
  // The class of a named tuple, the factory of a defaultdict, or a function that makes a registered
  // node of a list of its children.
  nanobind::object maker;
  // The keys of a mapping in canonical order, where some are neither text, number nor truth value.
  std::vector<nanobind::object> keys;
};

// How containers are made again, by their definitions, which trees made from one another share.
// Used and dropped with the GIL.
class TreeShapes {
 public:
  void Add(tree::NodeDefPtr def, NodeShape shape) {
    const tree::NodeDef* address = def.get();
    shapes_.insert_or_assign(address, std::pair(std::move(def), std::move(shape)));
  }

  // A container of these children, which are in canonical order.  One that is not known is made by
  // its kind and the name of its type.  Raises what its class raises.
  nanobind::object Make(const tree::NodeDef& def, std::vector<nanobind::object> children) const;

 private:
  // The definitions live as long as their addresses are used.
  absl::flat_hash_map<const tree::NodeDef*, std::pair<tree::NodeDefPtr, NodeShape>> shapes_;
};

struct PythonTree {
  ObjectTree tree;
  std::shared_ptr<const TreeShapes> shapes;
};

struct FromPythonOptions {
  // A function that is asked at every node, root included, whether it is a leaf; None: nobody.
  nanobind::object is_leaf = nanobind::none();
  bool none_is_leaf = false;
};

// dict, OrderedDict, defaultdict, list, tuple, None, named tuples, and what the package's hook
// knows.  All else is a leaf.  ValueError for keys that cannot be sorted, for two keys of one name,
// for a predicate that gives no truth value, and for a tree deeper than trees may be.
PythonTree FromPython(nanobind::handle object, const FromPythonOptions& options = {});

// The tree with each leaf made an object by `leaf`; dicts in the order that they were given in.
template <typename T, typename Fn>
nanobind::object ToPython(const tree::Tree<T>& node, const TreeShapes& shapes, const Fn& leaf) {
  if (node.is_none()) return nanobind::none();
  if (node.is_leaf()) return leaf(node.leaf());
  std::vector<nanobind::object> children;
  children.reserve(node.children().size());
  for (const tree::Tree<T>& child : node.children()) {
    children.push_back(ToPython(child, shapes, leaf));
  }
  return shapes.Make(*node.def(), std::move(children));
}

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_PY_TREE_H_
