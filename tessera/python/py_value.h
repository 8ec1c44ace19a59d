// The leaves of Python's trees as values, and values as leaves.
#ifndef TESSERA_PYTHON_PY_VALUE_H_
#define TESSERA_PYTHON_PY_VALUE_H_

#include <nanobind/nanobind.h>

#include <string_view>

#include "tessera/array/value.h"
#include "tessera/device/device.h"
#include "tessera/python/py_tree.h"

namespace tessera::python {

// Arrays of NumPy, and what the package's hook makes of others, by their memory, which is kept and
// not copied; bool, int, float, complex and str as scalars; all else is opaque.  TypeError, naming
// the key, for an array whose elements we have no type for.
array::Value ValueOf(nanobind::handle leaf, std::string_view key, const device::Platform& platform);

// (shape, sharding, [(device id, dense NumPy array), ...]) as an array that looks at their memory.
// ValueError, naming the key, when they do not fit.
array::ShardedArray ShardedArrayOf(const nanobind::tuple& described, std::string_view key,
                                   const device::Platform& platform);

// Every leaf of a tree.
array::ValueTree ValuesOf(const PythonTree& python, const device::Platform& platform);

// A scalar as Python's object.
nanobind::object ObjectOf(const tree::Scalar& scalar);

// A value that is no array: its scalar, or None for what a checkpoint could not keep.
nanobind::object ObjectOf(const array::Opaque& value);

// The array as NumPy's, which looks at its memory.
nanobind::object NumpyOfHost(const array::HostArray& array);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_PY_VALUE_H_
