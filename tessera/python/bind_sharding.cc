// NamedSharding and SingleDeviceSharding: JAX's classes for who has no JAX.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_mesh.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

using mesh::NamedSharding;
using mesh::SingleDeviceSharding;

NamedSharding MakeNamed(nb::handle mesh, nb::handle spec,
                        const std::optional<std::string>& memory_kind) {
  return Unwrap(NamedSharding::Make(MeshOf(mesh), SpecOf(spec), memory_kind.value_or("")));
}

nb::object MemoryKind(const std::string& kind) {
  return kind.empty() ? nb::none() : nb::object(nb::cast(kind));
}

nb::tuple Slices(const Box& box) {
  nb::list slices;
  for (int d = 0; d < box.rank(); ++d) {
    slices.append(nb::slice(nb::cast(box.begin(d)), nb::cast(box.end(d)), nb::none()));
  }
  return nb::tuple(slices);
}

nb::dict IndicesByDevice(const mesh::Sharding& sharding, nb::handle shape) {
  nb::dict indices;
  for (const auto& shard : Unwrap(mesh::PlaceShards(sharding, DimsOf(shape)))) {
    indices[nb::cast(shard.device.id)] = Slices(shard.box);
  }
  return indices;
}

nb::dict ReplicasByDevice(const mesh::Sharding& sharding, nb::handle shape) {
  nb::dict replicas;
  for (const auto& shard : Unwrap(mesh::PlaceShards(sharding, DimsOf(shape)))) {
    replicas[nb::cast(shard.device.id)] = shard.replica_id;
  }
  return replicas;
}

// What both kinds of sharding can be asked.
template <typename Class>
void BindQuestions(Class& sharding) {
  sharding
      .def(
          "shard_shape",
          [](nb::handle self, nb::handle shape) {
            return TupleOf(Unwrap(mesh::ShardShape(ShardingOf(self), DimsOf(shape))));
          },
          nb::arg("shape"), "The shape of every shard of an array of this shape.")
      .def(
          "devices_indices_map",
          [](nb::handle self, nb::handle shape) {
            return IndicesByDevice(ShardingOf(self), shape);
          },
          nb::arg("shape"), "What each device holds, by its id, as a tuple of slices.")
      .def(
          "replica_ids",
          [](nb::handle self, nb::handle shape) {
            return ReplicasByDevice(ShardingOf(self), shape);
          },
          nb::arg("shape"), "How many earlier devices hold the same, by the device's id.")
      .def_prop_ro("is_fully_replicated",
                   [](nb::handle self) { return mesh::IsFullyReplicated(ShardingOf(self)); })
      .def_prop_ro("num_devices",
                   [](nb::handle self) { return mesh::DevicesOf(ShardingOf(self)).size(); })
      .def(
          "is_equivalent_to",
          [](nb::handle self, nb::handle other, int ndim) {
            return Unwrap(mesh::AreEquivalent(ShardingOf(self), ShardingOf(other), ndim));
          },
          nb::arg("other"), nb::arg("ndim"), "Do both place every byte of such arrays alike?");
}

void BindNamed(nb::module_& module) {
  auto named = nb::class_<NamedSharding>(module, "NamedSharding", "A spec bound to a mesh.");
  named
      .def(
          "__init__",
          [](NamedSharding* self, nb::handle mesh, nb::handle spec,
             std::optional<std::string> memory_kind) {
            new (self) NamedSharding(MakeNamed(mesh, spec, memory_kind));
          },
          nb::arg("mesh"), nb::arg("spec"), nb::arg("memory_kind") = nb::none())
      .def_prop_ro("mesh", [](const NamedSharding& self) { return self.mesh(); })
      .def_prop_ro("spec", [](const NamedSharding& self) { return self.spec(); })
      .def_prop_ro("memory_kind",
                   [](const NamedSharding& self) { return MemoryKind(self.memory_kind()); })
      .def(
          "__eq__", [](const NamedSharding& a, const NamedSharding& b) { return a == b; },
          nb::is_operator())
      .def("__hash__",
           [](const NamedSharding& self) {
             return nb::hash(nb::make_tuple(self.mesh(), self.spec(), self.memory_kind()));
           })
      .def("__repr__",
           [](const NamedSharding& self) {
             return Concat("NamedSharding(", self.mesh().Text(), ", ", SpecText(self.spec()), ")");
           })
      .def("__reduce__", [](nb::handle self) {
        const auto value = nb::cast<NamedSharding>(self);
        return nb::make_tuple(self.type(), nb::make_tuple(value.mesh(), value.spec(),
                                                          MemoryKind(value.memory_kind())));
      });
  BindQuestions(named);
}

void BindSingle(nb::module_& module) {
  auto single = nb::class_<SingleDeviceSharding>(module, "SingleDeviceSharding",
                                                 "The whole array on one device.");
  single
      .def(
          "__init__",
          [](SingleDeviceSharding* self, int64_t device_id, int process,
             std::optional<std::string> memory_kind) {
            new (self) SingleDeviceSharding{{device_id, process}, memory_kind.value_or("")};
          },
          nb::arg("device_id"), nb::arg("process") = 0, nb::arg("memory_kind") = nb::none())
      .def_prop_ro("device_id", [](const SingleDeviceSharding& self) { return self.device.id; })
      .def_prop_ro("process", [](const SingleDeviceSharding& self) { return self.device.process; })
      .def_prop_ro("memory_kind",
                   [](const SingleDeviceSharding& self) { return MemoryKind(self.memory_kind); })
      .def(
          "__eq__",
          [](const SingleDeviceSharding& a, const SingleDeviceSharding& b) { return a == b; },
          nb::is_operator())
      .def("__hash__",
           [](const SingleDeviceSharding& self) {
             return nb::hash(nb::make_tuple(self.device.id, self.device.process, self.memory_kind));
           })
      .def("__repr__",
           [](const SingleDeviceSharding& self) {
             return Concat("SingleDeviceSharding(", self.device.id, ")");
           })
      .def("__reduce__", [](nb::handle self) {
        const auto value = nb::cast<SingleDeviceSharding>(self);
        return nb::make_tuple(self.type(), nb::make_tuple(value.device.id, value.device.process,
                                                          MemoryKind(value.memory_kind)));
      });
  BindQuestions(single);
}

}  // namespace

void BindSharding(nb::module_& module) {
  BindNamed(module);
  BindSingle(module);
}

}  // namespace tessera::python
