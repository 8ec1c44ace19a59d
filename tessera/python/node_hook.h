// The package's functions that C++ asks about Python's types.
#ifndef TESSERA_PYTHON_NODE_HOOK_H_
#define TESSERA_PYTHON_NODE_HOOK_H_

#include <nanobind/nanobind.h>

namespace tessera::python {

// Functions of the package, each set once when it is imported; _tree.py and _arrays.py say what
// they take and return.
enum class Hook {
  kFlattenNode,   // a container of a type that C++ does not know
  kMakeNode,      // a container that a checkpoint names by its type
  kDescribeLeaf,  // an array that is none of NumPy's
};

void SetHook(Hook hook, nanobind::object function);

// REQUIRES: the package is imported and the GIL held.
nanobind::handle GetHook(Hook hook);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_NODE_HOOK_H_
