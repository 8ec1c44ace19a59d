#include "tessera/python/numpy.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/python/py_mesh.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

// Bytes that Python looks at through its buffer protocol.
struct Memory {
  const std::byte* data = nullptr;
  int64_t size = 0;
  bool writable = false;
  std::shared_ptr<const void> owner;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory& memory = *nb::inst_ptr<Memory>(self);
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(memory.data),
                           static_cast<Py_ssize_t>(memory.size), memory.writable ? 0 : 1, flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)}, {0, nullptr}};

// What of NumPy is used often, kept until the process ends.
struct Numpy {
  nb::object module = nb::module_::import_("numpy");
  nb::object ml_dtypes = nb::module_::import_("ml_dtypes");
  nb::object array = module.attr("ndarray");
  std::vector<nb::object> dtypes;                       // by DType
  std::vector<std::pair<nb::object, DType>> seen = {};  // dtypes met so far
};

Numpy& TheNumpy() {
  static Numpy* numpy = [] {
    auto* made = new Numpy;
    for (const DTypeInfo& info : AllDTypes()) {
      const std::string name(info.name);
      nb::object scalar = nb::hasattr(made->ml_dtypes, name.c_str())
                              ? made->ml_dtypes.attr(name.c_str())
                              : nb::object(nb::cast(name));
      made->dtypes.push_back(made->module.attr("dtype")(scalar));
    }
    return made;
  }();
  return *numpy;
}

// From the first byte to behind the last one.
int64_t SpanBytes(const ConstStridedView& view) {
  int64_t bytes = view.element_bytes;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return 0;
    bytes += (view.shape[i] - 1) * view.strides[i];
  }
  return bytes;
}

}  // namespace

void BindMemory(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", nb::type_slots(memory_slots), "Bytes of an array.");
}

bool IsNumpyArray(nb::handle object) {
  // Who has not imported NumPy has no array of its.
  static PyObject* modules = PyImport_GetModuleDict();
  if (PyDict_GetItemString(modules, "numpy") == nullptr) return false;
  return PyObject_IsInstance(object.ptr(), TheNumpy().array.ptr()) == 1;
}

nb::object NumpyDtype(DType dtype) { return TheNumpy().dtypes[static_cast<size_t>(dtype)]; }

std::optional<DType> DTypeOf(nb::handle numpy_dtype) {
  Numpy& numpy = TheNumpy();
  for (const auto& [known, dtype] : numpy.seen) {
    if (known.ptr() == numpy_dtype.ptr()) return dtype;
  }
  for (size_t i = 0; i < numpy.dtypes.size(); ++i) {
    if (!numpy.dtypes[i].equal(numpy_dtype)) continue;
    // A program has few dtypes; one that makes them without end is not followed.
    if (numpy.seen.size() < 64)
      numpy.seen.emplace_back(nb::borrow(numpy_dtype), static_cast<DType>(i));
    return static_cast<DType>(i);
  }
  return std::nullopt;
}

ConstStridedView ViewOfNumpy(nb::handle array, DType dtype) {
  ConstStridedView view;
  view.element_bytes = DTypeBytes(dtype);
  for (const nb::handle size : nb::borrow<nb::tuple>(array.attr("shape"))) {
    view.shape.push_back(nb::cast<int64_t>(size));
  }
  for (const nb::handle stride : nb::borrow<nb::tuple>(array.attr("strides"))) {
    view.strides.push_back(nb::cast<int64_t>(stride));
  }
  const nb::object interface = array.attr("__array_interface__");
  view.data = reinterpret_cast<const std::byte*>(nb::cast<uintptr_t>(interface["data"][0]));
  return view;
}

nb::object NumpyOf(const ConstStridedView& view, DType dtype, std::shared_ptr<const void> owner,
                   bool writable) {
  Numpy& numpy = TheNumpy();
  nb::object memory =
      nb::cast(Memory{view.data, SpanBytes(view), writable, std::move(owner)}, nb::rv_policy::move);
  return numpy.array(TupleOf(view.shape), NumpyDtype(dtype), memory, 0, TupleOf(view.strides));
}

}  // namespace tessera::python
