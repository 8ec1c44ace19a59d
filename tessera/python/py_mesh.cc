#include "tessera/python/py_mesh.h"

#include <nanobind/stl/string.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/python/errors.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

// Lives as long as the process does, as the module itself.
nb::handle unconstrained_object;

std::string TypeNameOf(nb::handle object) { return nb::cast<std::string>(nb::inst_name(object)); }

// The text of an attribute that a class may lack.
std::string ClassText(nb::handle type, const char* attribute) {
  const nb::object value = nb::getattr(type, attribute, nb::none());
  return nb::isinstance<nb::str>(value) ? nb::cast<std::string>(value) : std::string();
}

// Is one of the object's classes JAX's of one of these names?
bool IsOfJax(nb::handle object, std::initializer_list<std::string_view> names) {
  for (const nb::handle type : nb::borrow<nb::tuple>(object.type().attr("__mro__"))) {
    const std::string module = ClassText(type, "__module__");
    if (module != "jax" && !module.starts_with("jax.") && !module.starts_with("jaxlib")) continue;
    const std::string name = ClassText(type, "__name__");
    for (const std::string_view wanted : names) {
      if (name == wanted) return true;
    }
  }
  return false;
}

int64_t IntegerOf(nb::handle object, std::string_view what) {
  // Python's and NumPy's integers both have __index__; floats have none.
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    RaiseTypeError(what, Concat("an integer is expected, not ", TypeNameOf(object)));
  }
  const long long value = PyLong_AsLongLong(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

mesh::AxisType AxisTypeOfJax(nb::handle type) {
  const std::string text = nb::cast<std::string>(nb::str(type));
  if (text.ends_with("Explicit")) return mesh::AxisType::kExplicit;
  return text.ends_with("Manual") ? mesh::AxisType::kManual : mesh::AxisType::kAuto;
}

std::vector<mesh::Axis> AxesOfJax(nb::handle object, nb::handle devices) {
  const Dims sizes = DimsOf(devices.attr("shape"));
  const nb::object types = nb::getattr(object, "axis_types", nb::none());
  std::vector<mesh::Axis> axes;
  for (const nb::handle name : object.attr("axis_names")) {
    const size_t i = axes.size();
    if (i >= sizes.size()) break;
    axes.push_back({nb::cast<std::string>(nb::str(name)), sizes[i]});
    if (nb::isinstance<nb::tuple>(types) && i < nb::len(types)) {
      axes.back().type = AxisTypeOfJax(types[i]);
    }
  }
  return axes;
}

mesh::Device DeviceOfJax(nb::handle device) {
  return {IntegerOf(device.attr("id"), "a device's id"),
          static_cast<int>(IntegerOf(device.attr("process_index"), "a device's process"))};
}

mesh::Mesh MeshOfJax(nb::handle object) {
  if (nb::cast<bool>(object.attr("empty"))) return mesh::Mesh();
  const nb::object grid = object.attr("devices");
  std::vector<mesh::Device> devices;
  for (const nb::handle device : grid.attr("flat")) devices.push_back(DeviceOfJax(device));
  return Unwrap(mesh::Mesh::Make(AxesOfJax(object, grid), std::move(devices)));
}

std::string MemoryKindOfJax(nb::handle sharding) {
  const nb::object kind = nb::getattr(sharding, "memory_kind", nb::none());
  return nb::isinstance<nb::str>(kind) ? nb::cast<std::string>(kind) : std::string();
}

mesh::SingleDeviceSharding SingleDeviceOfJax(nb::handle object) {
  for (const nb::handle device : object.attr("device_set")) {
    return {DeviceOfJax(device), MemoryKindOfJax(object)};
  }
  RaiseTypeError("a sharding", "a single device is expected, and there is none");
}

std::vector<std::string> NamesOf(nb::handle entry) {
  std::vector<std::string> names;
  for (const nb::handle name : entry) {
    if (nb::isinstance<nb::tuple>(name) || nb::isinstance<nb::list>(name)) {
      Raise(InvalidArgument("a tuple stands inside a tuple of a partition spec: ",
                            nb::cast<std::string>(nb::repr(entry))));
    }
    names.push_back(TextOf(name, "an axis of a partition spec"));
  }
  return names;
}

}  // namespace

void SetUnconstrained(nb::object object) { unconstrained_object = object.release(); }

nb::object UnconstrainedObject() { return nb::borrow(unconstrained_object); }

std::string TextOf(nb::handle object, std::string_view what) {
  if (!nb::isinstance<nb::str>(object)) {
    RaiseTypeError(what, Concat("text is expected, not ", TypeNameOf(object)));
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) nb::raise_python_error();
  return {text, static_cast<size_t>(size)};
}

Dims DimsOf(nb::handle object) {
  Dims dims;
  for (const nb::handle size : object) dims.push_back(IntegerOf(size, "a shape"));
  return dims;
}

nb::tuple TupleOf(DimsView dims) {
  nb::list list;
  for (const int64_t size : dims) list.append(size);
  return nb::tuple(list);
}

std::vector<std::string> AxisNamesOf(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return {TextOf(object, "axis_names")};
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) {
    RaiseTypeError("axis_names",
                   Concat("text, or a list or tuple of it, is expected, not ", TypeNameOf(object)));
  }
  std::vector<std::string> names;
  for (const nb::handle name : object) names.push_back(TextOf(name, "axis_names"));
  return names;
}

mesh::Mesh MeshOf(nb::handle object) {
  if (nb::isinstance<mesh::Mesh>(object)) return nb::cast<mesh::Mesh>(object);
  if (IsOfJax(object, {"AbstractMesh"})) {
    RaiseTypeError("a mesh", "devices are needed, and an abstract mesh of JAX has none");
  }
  if (!IsOfJax(object, {"Mesh"})) {
    RaiseTypeError("a mesh", Concat("tessera.Mesh or jax.sharding.Mesh is expected, not ",
                                    TypeNameOf(object)));
  }
  return MeshOfJax(object);
}

std::optional<mesh::Mesh> OptionalMeshOf(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  return MeshOf(object);
}

mesh::SpecEntry SpecEntryOf(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<nb::str>(object)) return TextOf(object, "a partition spec");
  if (nb::isinstance<nb::tuple>(object) || nb::isinstance<nb::list>(object)) {
    return NamesOf(object);
  }
  if (nb::isinstance<Unconstrained>(object) || IsOfJax(object, {"UnconstrainedSingleton"})) {
    return mesh::SpecEntry::Unconstrained();
  }
  RaiseTypeError("a partition spec",
                 Concat("None, an axis name or a tuple of them is expected for a dimension, not ",
                        TypeNameOf(object)));
}

mesh::PartitionSpec SpecOf(nb::handle object) {
  if (nb::isinstance<mesh::PartitionSpec>(object)) return nb::cast<mesh::PartitionSpec>(object);
  if (!IsOfJax(object, {"PartitionSpec", "P"})) {
    RaiseTypeError("a partition spec",
                   Concat("tessera.PartitionSpec or jax.sharding.PartitionSpec is expected, not ",
                          TypeNameOf(object)));
  }
  for (const char* part : {"unreduced", "reduced"}) {
    const nb::object axes = nb::getattr(object, part, nb::none());
    if (!axes.is_none() && nb::len(axes) > 0) {
      Raise(Unimplemented("a partition spec with ", part,
                          " axes: ", nb::cast<std::string>(nb::repr(object))));
    }
  }
  std::vector<mesh::SpecEntry> entries;
  for (const nb::handle entry : object) entries.push_back(SpecEntryOf(entry));
  return mesh::PartitionSpec(std::move(entries));
}

mesh::Sharding ShardingOf(nb::handle object) {
  if (nb::isinstance<mesh::NamedSharding>(object)) return nb::cast<mesh::NamedSharding>(object);
  if (nb::isinstance<mesh::SingleDeviceSharding>(object)) {
    return nb::cast<mesh::SingleDeviceSharding>(object);
  }
  if (IsOfJax(object, {"NamedSharding"})) {
    return Unwrap(mesh::NamedSharding::Make(MeshOf(object.attr("mesh")),
                                            SpecOf(object.attr("spec")), MemoryKindOfJax(object)));
  }
  if (IsOfJax(object, {"SingleDeviceSharding"})) return SingleDeviceOfJax(object);
  RaiseTypeError("a sharding",
                 Concat("a named or single-device sharding of tessera or JAX is expected, not ",
                        TypeNameOf(object)));
}

nb::object ObjectOf(const mesh::SpecEntry& entry) {
  if (entry.unconstrained()) return UnconstrainedObject();
  if (entry.replicated()) return nb::none();
  if (entry.axes().size() == 1) return nb::cast(entry.axes()[0]);
  nb::list names;
  for (const std::string& axis : entry.axes()) names.append(axis);
  return nb::tuple(names);
}

std::string SpecText(const mesh::PartitionSpec& spec) {
  const std::string text = spec.Text();
  return Concat("PartitionSpec", std::string_view(text).substr(1));
}

nb::object ObjectOf(const mesh::Sharding& sharding) {
  return std::visit([](const auto& value) { return nb::cast(value); }, sharding);
}

}  // namespace tessera::python
