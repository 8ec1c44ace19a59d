// Mesh and PartitionSpec: JAX's classes for who has no JAX; and questions about axes.
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
#include "tessera/mesh/axis_queries.h"
#include "tessera/mesh/mesh_scope.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_mesh.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

using mesh::Mesh;
using mesh::PartitionSpec;

template <typename T, typename Fn>
nb::tuple TupleFrom(const T& values, Fn fn) {
  nb::list list;
  for (const auto& value : values) list.append(fn(value));
  return nb::tuple(list);
}

const char* AxisTypeName(mesh::AxisType type) {
  switch (type) {
    case mesh::AxisType::kExplicit:
      return "explicit";
    case mesh::AxisType::kManual:
      return "manual";
    default:
      return "auto";
  }
}

mesh::AxisType AxisTypeOf(const std::string& name) {
  for (const auto type :
       {mesh::AxisType::kAuto, mesh::AxisType::kExplicit, mesh::AxisType::kManual}) {
    if (name == AxisTypeName(type)) return type;
  }
  Raise(InvalidArgument("axis type '", name, "'; expected 'auto', 'explicit' or 'manual'"));
}

std::vector<mesh::Axis> AxesOf(const std::vector<std::string>& names, const Dims& sizes,
                               const std::optional<std::vector<std::string>>& types) {
  if (names.size() != sizes.size() || (types.has_value() && types->size() != names.size())) {
    Raise(InvalidArgument("a mesh of ", names.size(), " axis names needs as many sizes and types, ",
                          "not ", sizes.size(), " and ",
                          types.has_value() ? types->size() : names.size()));
  }
  std::vector<mesh::Axis> axes;
  for (size_t i = 0; i < names.size(); ++i) {
    axes.push_back({names[i], sizes[i]});
    if (types.has_value()) axes[i].type = AxisTypeOf((*types)[i]);
  }
  return axes;
}

std::vector<mesh::Device> DevicesOf(const std::vector<int64_t>& ids,
                                    const std::optional<std::vector<int>>& processes) {
  if (processes.has_value() && processes->size() != ids.size()) {
    Raise(InvalidArgument(processes->size(), " processes are given for ", ids.size(), " devices"));
  }
  std::vector<mesh::Device> devices;
  for (size_t i = 0; i < ids.size(); ++i) {
    devices.push_back({ids[i], processes.has_value() ? (*processes)[i] : 0});
  }
  return devices;
}

Mesh MakeMesh(nb::handle axis_names, nb::handle sizes,
              const std::optional<std::vector<int64_t>>& device_ids,
              const std::optional<std::vector<int>>& processes,
              const std::optional<std::vector<std::string>>& axis_types) {
  std::vector<mesh::Axis> axes = AxesOf(AxisNamesOf(axis_names), DimsOf(sizes), axis_types);
  if (device_ids.has_value()) {
    if (axes.empty() && device_ids->empty()) return Mesh();
    return Unwrap(Mesh::Make(std::move(axes), DevicesOf(*device_ids, processes)));
  }
  if (axes.empty() && !processes.has_value()) return Mesh();
  const Mesh host = Unwrap(Mesh::MakeHost(axes));
  if (!processes.has_value()) return host;
  std::vector<int64_t> ids;
  for (const mesh::Device& device : host.devices()) ids.push_back(device.id);
  return Unwrap(Mesh::Make(std::move(axes), DevicesOf(ids, processes)));
}

nb::tuple AxisNames(const Mesh& mesh) {
  return TupleFrom(mesh.axes(), [](const mesh::Axis& axis) { return axis.name; });
}

nb::tuple Sizes(const Mesh& mesh) {
  return TupleFrom(mesh.axes(), [](const mesh::Axis& axis) { return axis.size; });
}

nb::tuple DeviceIds(const Mesh& mesh) {
  return TupleFrom(mesh.devices(), [](const mesh::Device& device) { return device.id; });
}

nb::tuple Processes(const Mesh& mesh) {
  return TupleFrom(mesh.devices(), [](const mesh::Device& device) { return device.process; });
}

nb::tuple AxisTypes(const Mesh& mesh) {
  return TupleFrom(mesh.axes(), [](const mesh::Axis& axis) { return AxisTypeName(axis.type); });
}

nb::dict ShapeByName(const Mesh& mesh) {
  nb::dict shape;
  for (const mesh::Axis& axis : mesh.axes()) shape[nb::cast(axis.name)] = axis.size;
  return shape;
}

nb::tuple MeshArguments(const Mesh& mesh) {
  return nb::make_tuple(AxisNames(mesh), Sizes(mesh), DeviceIds(mesh), Processes(mesh),
                        AxisTypes(mesh));
}

// The `with` blocks that this thread is in.
struct EnteredBlocks {
  // The library's own stack has to be there first, as what is made first goes last.
  EnteredBlocks() { mesh::GetIncontextMesh(/*raise_error=*/false).IgnoreError(); }
  std::vector<std::unique_ptr<mesh::MeshScope>> meshes;
  std::vector<std::unique_ptr<mesh::DeviceScope>> devices;
};

EnteredBlocks& Entered() {
  thread_local EnteredBlocks blocks;
  return blocks;
}

template <typename Scopes>
void Leave(Scopes& scopes) {
  if (scopes.empty()) Raise(FailedPrecondition("this thread has not entered a mesh"));
  scopes.pop_back();
}

// What code inside `with mesh.at(device):` calls the current device.
struct DeviceBlock {
  mesh::DeviceRegion region;
};

PartitionSpec MakeSpec(const nb::args& entries) {
  std::vector<mesh::SpecEntry> parsed;
  for (const nb::handle entry : entries) parsed.push_back(SpecEntryOf(entry));
  return PartitionSpec(std::move(parsed));
}

nb::tuple Entries(const PartitionSpec& spec) {
  return TupleFrom(spec.entries(), [](const mesh::SpecEntry& entry) { return ObjectOf(entry); });
}

void BindMeshClass(nb::module_& module) {
  nb::class_<DeviceBlock>(module, "DeviceBlock", "The code inside runs for one device.")
      .def("__enter__",
           [](const DeviceBlock& self) {
             Entered().devices.push_back(std::make_unique<mesh::DeviceScope>(self.region));
           })
      .def("__exit__", [](const DeviceBlock&, nb::args) { Leave(Entered().devices); });

  nb::class_<Mesh>(module, "Mesh", "Devices on a grid whose axes have names.")
      .def(
          "__init__",
          [](Mesh* self, nb::handle axis_names, nb::handle sizes,
             std::optional<std::vector<int64_t>> device_ids,
             std::optional<std::vector<int>> processes,
             std::optional<std::vector<std::string>> axis_types) {
            new (self) Mesh(MakeMesh(axis_names, sizes, device_ids, processes, axis_types));
          },
          nb::arg("axis_names") = nb::tuple(), nb::arg("sizes") = nb::tuple(),
          nb::arg("device_ids") = nb::none(), nb::arg("processes") = nb::none(),
          nb::arg("axis_types") = nb::none())
      .def_prop_ro("axis_names", &AxisNames, "Major to minor.")
      .def_prop_ro("axis_sizes", &Sizes)
      .def_prop_ro("axis_types", &AxisTypes, "'auto', 'explicit' or 'manual' for each axis.")
      .def_prop_ro("shape", &ShapeByName, "The size of each axis, by its name.")
      .def_prop_ro("size", &Mesh::size, "The number of devices.")
      .def_prop_ro("empty", &Mesh::empty)
      .def_prop_ro("device_ids", &DeviceIds, "In row-major order of the grid.")
      .def_prop_ro("processes", &Processes, "Whose each device is.")
      .def(
          "at",
          [](const Mesh& self, int64_t device_id) {
            return DeviceBlock{Unwrap(mesh::RegionOf(self, device_id))};
          },
          nb::arg("device_id"), "A context in which this device is the current one.")
      .def("__enter__",
           [](nb::object self) {
             Entered().meshes.push_back(std::make_unique<mesh::MeshScope>(nb::cast<Mesh>(self)));
             return self;
           })
      .def("__exit__", [](const Mesh&, nb::args) { Leave(Entered().meshes); })
      .def(
          "__eq__", [](const Mesh& a, const Mesh& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Mesh& mesh) { return nb::hash(MeshArguments(mesh)); })
      .def("__repr__", [](const Mesh& mesh) { return mesh.Text(); })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), MeshArguments(nb::cast<Mesh>(self)));
      });
}

void BindSpecClass(nb::module_& module) {
  nb::class_<Unconstrained>(module, "Unconstrained", "A dimension that is left to the runtime.")
      .def("__repr__", [](const Unconstrained&) { return "UNCONSTRAINED"; })
      .def("__reduce__", [](const Unconstrained&) { return "UNCONSTRAINED"; });
  module.attr("UNCONSTRAINED") = nb::cast(Unconstrained());
  SetUnconstrained(module.attr("UNCONSTRAINED"));

  auto spec = nb::class_<PartitionSpec>(module, "PartitionSpec",
                                        "Which mesh axes split which dimension of an array.");
  spec.def("__init__", [](PartitionSpec* self,
                          const nb::args& entries) { new (self) PartitionSpec(MakeSpec(entries)); })
      .def("__len__", &PartitionSpec::size)
      .def("__getitem__",
           [](const PartitionSpec& self, nb::handle at) {
             return nb::object(Entries(self).attr("__getitem__")(at));
           })
      .def("__iter__", [](const PartitionSpec& self) { return nb::iter(Entries(self)); })
      .def(
          "__eq__", [](const PartitionSpec& a, const PartitionSpec& b) { return a == b; },
          nb::is_operator())
      .def("__hash__", [](const PartitionSpec& self) { return nb::hash(Entries(self)); })
      .def("__repr__", &SpecText)
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), Entries(nb::cast<PartitionSpec>(self)));
      });
  spec.attr("UNCONSTRAINED") = module.attr("UNCONSTRAINED");
}

std::optional<mesh::DeviceRegion> RegionOf(nb::handle mesh, std::optional<int64_t> device_id) {
  if (!device_id.has_value()) return std::nullopt;
  const Mesh chosen = Unwrap(mesh::MeshOrContext(OptionalMeshOf(mesh), "get_submesh_device_index"));
  return Unwrap(mesh::RegionOf(chosen, *device_id));
}

void BindQueries(nb::module_& module) {
  module.def(
      "current_mesh", [](bool raise_error) { return Unwrap(mesh::GetIncontextMesh(raise_error)); },
      nb::arg("raise_error") = true, "The mesh of this thread's innermost `with` block.");
  module.def(
      "set_process_mesh", [](nb::handle mesh) { mesh::SetProcessMesh(MeshOf(mesh)); },
      nb::arg("mesh"), "The mesh of threads that are in no `with` block; Mesh() takes it away.");
  module.def(
      "mesh_axis_names",
      [](nb::handle mesh) { return Unwrap(mesh::GetMeshAxisNames(OptionalMeshOf(mesh))); },
      nb::arg("mesh") = nb::none());
  module.def(
      "axes_size",
      [](nb::handle names, nb::handle mesh) {
        return Unwrap(mesh::GetAxesSizeInMesh(AxisNamesOf(names), OptionalMeshOf(mesh)));
      },
      nb::arg("axis_names").none(), nb::arg("mesh") = nb::none());
  module.def(
      "mesh_axis_size",
      [](nb::handle names, nb::handle mesh) {
        return Unwrap(mesh::GetMeshAxisSize(AxisNamesOf(names), OptionalMeshOf(mesh)));
      },
      nb::arg("axis_names").none(), nb::arg("mesh") = nb::none());
  module.def(
      "submesh_index",
      [](nb::handle names, nb::handle mesh, std::optional<int64_t> device_id) {
        return Unwrap(mesh::GetSubmeshDeviceIndex(AxisNamesOf(names), RegionOf(mesh, device_id)));
      },
      nb::arg("axis_names").none(), nb::arg("mesh") = nb::none(),
      nb::arg("device_id") = nb::none());
}

}  // namespace

void BindMesh(nb::module_& module) {
  BindMeshClass(module);
  BindSpecClass(module);
  BindQueries(module);
}

}  // namespace tessera::python
