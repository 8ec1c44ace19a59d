// ShardedArray: an array spread over the devices of one of tessera's own meshes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array/sharded_array.h"
#include "tessera/array/to_host.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/numpy.h"
#include "tessera/python/py_mesh.h"
#include "tessera/python/py_object.h"
#include "tessera/python/py_value.h"

namespace tessera::python {

namespace nb = nanobind;
using array::ShardedArray;

namespace {

// The devices that the shards lie on, whose memory is the host's.
std::unique_ptr<device::Platform> PlatformOf(const mesh::Sharding& sharding, int process) {
  std::vector<int64_t> ids;
  for (const mesh::Device& device : mesh::AddressableDevices(sharding, process)) {
    ids.push_back(device.id);
  }
  const auto count = static_cast<int64_t>(ids.size());
  return Unwrap(
      device::MakeHostPlatform({.count = count, .process = process, .ids = std::move(ids)}));
}

ShardedArray FromPieces(nb::handle shape, nb::handle sharding, nb::handle pieces, int process) {
  const std::unique_ptr<device::Platform> platform = PlatformOf(ShardingOf(sharding), process);
  return ShardedArrayOf(nb::make_tuple(shape, sharding, pieces), "array", *platform);
}

// [(device id, replica number, index as slices, NumPy array), ...].
nb::list Shards(const ShardedArray& array) {
  nb::list shards;
  for (const array::Shard& shard : array.shards()) {
    nb::list index;
    for (int i = 0; i < shard.box.rank(); ++i) {
      index.append(
          nb::slice(nb::int_(shard.box.begin(i)), nb::int_(shard.box.end(i)), nb::int_(1)));
    }
    shards.append(nb::make_tuple(
        shard.device.id, shard.replica_id, nb::tuple(index),
        NumpyOf(shard.View(array.dtype()), array.dtype(), shard.buffer.owner(), false)));
  }
  return shards;
}

nb::tuple Describe(const ShardedArray& array) {
  nb::list pieces;
  for (const nb::handle shard : Shards(array)) {
    pieces.append(nb::make_tuple(shard[0], shard[3]));
  }
  return nb::make_tuple(TupleOf(array.shape()), ObjectOf(array.sharding()), pieces);
}

// The whole array.  ValueError unless all of it is here.
nb::object ToNumpy(const ShardedArray& array) {
  const int process = array.shards().empty() ? 0 : array.shards()[0].device.process;
  const std::unique_ptr<device::Platform> platform = PlatformOf(array.sharding(), process);
  absl::StatusOr<array::HostArray> host = absl::UnknownError("");
  {
    ReleasedGil release;
    host = array::ToHost(array, *platform, {.share = true});
  }
  return NumpyOfHost(Unwrap(std::move(host)));
}

nb::object AsNumpy(const ShardedArray& array, nb::handle dtype, nb::handle copy) {
  nb::object whole = ToNumpy(array);
  if (!dtype.is_none()) return whole.attr("astype")(dtype);
  if (!copy.is_none() && nb::cast<bool>(copy)) return whole.attr("copy")();
  return whole;
}

}  // namespace

void BindArray(nb::module_& module) {
  nb::class_<ShardedArray>(module, "ShardedArray", "An array spread over the devices of a mesh.")
      .def_static("from_pieces", &FromPieces, nb::arg("shape"), nb::arg("sharding"),
                  nb::arg("pieces"), nb::arg("process") = 0,
                  "Of one NumPy array for each device of the process: [(device id, array), ...].")
      .def_prop_ro("shape", [](const ShardedArray& self) { return TupleOf(self.shape()); })
      .def_prop_ro("ndim", [](const ShardedArray& self) { return self.shape().size(); })
      .def_prop_ro("dtype", [](const ShardedArray& self) { return NumpyDtype(self.dtype()); })
      .def_prop_ro("size",
                   [](const ShardedArray& self) { return Unwrap(NumElements(self.shape())); })
      .def_prop_ro(
          "nbytes",
          [](const ShardedArray& self) { return Unwrap(NumBytes(self.dtype(), self.shape())); })
      .def_prop_ro("sharding", [](const ShardedArray& self) { return ObjectOf(self.sharding()); })
      .def_prop_ro("is_fully_addressable", &ShardedArray::IsFullyAddressable)
      .def_prop_ro("shards", &Shards,
                   "[(device id, replica number, index, NumPy array), ...] of this process.")
      .def("describe", &Describe, "What a save takes of it.")
      .def("__array__", &AsNumpy, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__repr__", [](const ShardedArray& self) {
        return Concat("<ShardedArray ", DTypeName(self.dtype()), ShapeText(self.shape()), " on ",
                      mesh::ShardingText(self.sharding()), ">");
      });
}

}  // namespace tessera::python
