#include "tessera/python/py_value.h"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/python/errors.h"
#include "tessera/python/node_hook.h"
#include "tessera/python/numpy.h"
#include "tessera/python/py_mesh.h"
#include "tessera/python/py_object.h"
#include "tessera/tree/map.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

std::string TypeText(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

DType ElementType(nb::handle array, std::string_view key) {
  const nb::object dtype = array.attr("dtype");
  const std::optional<DType> known = DTypeOf(dtype);
  if (!known.has_value()) {
    RaiseTypeError(key, Concat("an array of dtype ", nb::cast<std::string>(nb::str(dtype)),
                               " cannot be saved"));
  }
  return *known;
}

array::HostArray HostArrayOf(nb::handle array, std::string_view key) {
  const DType dtype = ElementType(array, key);
  return Unwrap(
      array::HostArray::Borrow(ViewOfNumpy(array, dtype), dtype, KeepAlive(nb::borrow(array))));
}

// The piece of one device: (device id, NumPy array).
array::Piece PieceOf(nb::handle pair, std::string_view key) {
  const nb::object array = nb::borrow(pair[1]);
  const DType dtype = ElementType(array, key);
  const ConstStridedView view = ViewOfNumpy(array, dtype);
  const int64_t id = nb::cast<int64_t>(pair[0]);
  const auto bytes = nb::cast<int64_t>(array.attr("nbytes"));
  return {.device_id = id,
          .array = {view.shape, dtype},
          .buffer = device::DeviceBuffer::Borrow(
              {.device_id = id}, std::span<const std::byte>(view.data, static_cast<size_t>(bytes)),
              KeepAlive(array))};
}

std::optional<tree::Scalar> ScalarOf(nb::handle leaf) {
  PyObject* object = leaf.ptr();
  if (PyBool_Check(object)) return tree::Scalar(object == Py_True);
  if (PyFloat_CheckExact(object)) return tree::Scalar(PyFloat_AsDouble(object));
  if (PyUnicode_CheckExact(object)) return tree::Scalar(Utf8Of(leaf));
  if (PyComplex_CheckExact(object)) {
    return tree::Scalar(nb::cast<std::complex<double>>(leaf));
  }
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) return std::nullopt;
  return tree::Scalar(number);
}

}  // namespace

array::ShardedArray ShardedArrayOf(const nb::tuple& described, std::string_view key,
                                   const device::Platform& platform) {
  ShapeDtype array;
  array.shape = DimsOf(described[0]);
  std::vector<array::Piece> pieces;
  for (const nb::handle pair : nb::borrow(described[2])) pieces.push_back(PieceOf(pair, key));
  if (pieces.empty()) {
    Raise(FailedPrecondition(key, ": no shard of the array is on a device of this process"));
  }
  array.dtype = pieces[0].array.dtype;
  return Unwrap(array::ShardedArray::FromPieces(array, ShardingOf(described[1]), platform,
                                                std::move(pieces)));
}

array::Value ValueOf(nb::handle leaf, std::string_view key, const device::Platform& platform) {
  if (std::optional<tree::Scalar> scalar = ScalarOf(leaf)) {
    return array::MakeScalar(*std::move(scalar));
  }
  if (IsNumpyArray(leaf) && DTypeOf(leaf.attr("dtype")).has_value()) return HostArrayOf(leaf, key);
  const nb::object described = GetHook(Hook::kDescribeLeaf)(leaf, std::string(key));
  if (PyTuple_CheckExact(described.ptr())) {
    return ShardedArrayOf(nb::borrow<nb::tuple>(described), key, platform);
  }
  if (!described.is_none()) return HostArrayOf(described, key);
  return array::Opaque{.value = KeepAlive(nb::borrow(leaf)), .type_name = TypeText(leaf)};
}

array::ValueTree ValuesOf(const PythonTree& python, const device::Platform& platform) {
  return Unwrap(tree::MapWithPath(
      python.tree, [&](const tree::KeyPathView& path, const nb::object& leaf) -> array::Value {
        return ValueOf(leaf, path.Dotted(), platform);
      }));
}

nb::object ObjectOf(const tree::Scalar& scalar) {
  return std::visit([](const auto& value) { return nb::object(nb::cast(value)); }, scalar);
}

nb::object ObjectOf(const array::Opaque& value) {
  if (value.scalar.has_value()) return ObjectOf(*value.scalar);
  return nb::none();
}

nb::object NumpyOfHost(const array::HostArray& array) {
  return NumpyOf(array.view(), array.dtype(), array.owner(), false);
}

}  // namespace tessera::python
