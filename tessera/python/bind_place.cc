// Arrays on their way to a sharding of tessera's own, to the host, and to other processes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/array/broadcast.h"
#include "tessera/array/place.h"
#include "tessera/array/sharded_array.h"
#include "tessera/array/to_host.h"
#include "tessera/comm/alone.h"
#include "tessera/comm/comm.h"
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

using SharedComm = std::shared_ptr<comm::Comm>;

// Adds the devices that `process` has of a sharding.
void AddDevices(const mesh::Sharding& sharding, int process, std::set<int64_t>& ids) {
  for (const mesh::Device& device : mesh::AddressableDevices(sharding, process)) {
    ids.insert(device.id);
  }
}

// Devices whose memory is the host's.  Cheap to make: it has no threads.
std::unique_ptr<device::Platform> PlatformOf(const std::set<int64_t>& ids, int process) {
  device::HostPlatformOptions options{.count = static_cast<int64_t>(ids.size()),
                                      .process = process,
                                      .ids = std::vector<int64_t>(ids.begin(), ids.end())};
  return Unwrap(device::MakeHostPlatform(options));
}

// The engine that was given, or one for a program of one process.
SharedComm CommOrAlone(SharedComm comm) {
  return comm != nullptr ? std::move(comm) : SharedComm(comm::MakeAlone());
}

// A NumPy array whose memory is looked at for the time of a call.
array::HostArray HostArrayOf(nb::handle array) {
  const std::optional<DType> dtype =
      IsNumpyArray(array) ? DTypeOf(array.attr("dtype")) : std::nullopt;
  if (!dtype.has_value()) {
    RaiseTypeError("array", Concat("a NumPy array of numbers is expected, not ",
                                   nb::cast<std::string>(nb::inst_name(array))));
  }
  return Unwrap(
      array::HostArray::Borrow(ViewOfNumpy(array, *dtype), *dtype, KeepAlive(nb::borrow(array))));
}

// Elements of NumPy's are copied, as they may change later.
ShardedArray Place(nb::handle array, nb::handle sharding, SharedComm comm) {
  const mesh::Sharding target = ShardingOf(sharding);
  const SharedComm engine = CommOrAlone(std::move(comm));
  std::set<int64_t> ids;
  AddDevices(target, engine->rank(), ids);
  if (!nb::isinstance<ShardedArray>(array)) {
    const array::HostArray host = HostArrayOf(array);
    const auto platform = PlatformOf(ids, engine->rank());
    const auto copy = [&] {
      const ReleasedGil release;
      return ShardedArray::FromHost(host.view(), host.dtype(), target, *platform);
    };
    return Unwrap(copy());
  }
  const auto source = nb::cast<ShardedArray>(array);
  AddDevices(source.sharding(), engine->rank(), ids);
  const auto platform = PlatformOf(ids, engine->rank());
  const auto move = [&] {
    const ReleasedGil release;
    return array::Place(source, target, {.platform = *platform, .comm = *engine});
  };
  return Unwrap(move());
}

absl::StatusOr<array::HostArray> Gather(const ShardedArray& array, comm::Comm& comm,
                                        const array::ToHostOptions& options) {
  // A process of several may have an array for itself, which it gathers alone.
  const int process = array.shards().empty() ? comm.rank() : array.shards()[0].device.process;
  std::set<int64_t> ids;
  AddDevices(array.sharding(), process, ids);
  TESSERA_ASSIGN_OR_RETURN(
      const auto platform,
      device::MakeHostPlatform({.count = static_cast<int64_t>(ids.size()),
                                .process = process,
                                .ids = std::vector<int64_t>(ids.begin(), ids.end())}));
  if (array::IsWholeHere(array)) return array::ToHost(array, *platform, options);
  return array::ToHost(array, *platform, comm, {.host = options});
}

// The whole array as NumPy's, with floats converted while they are copied.  Without a conversion
// it may look at the array's own memory.
nb::object ToHost(nb::handle array, const std::optional<std::string>& float_dtype,
                  SharedComm comm) {
  array::ToHostOptions options{.share = true};
  if (float_dtype.has_value()) options.float_dtype = Unwrap(ParseDTypeAlias(*float_dtype));
  const SharedComm engine = CommOrAlone(std::move(comm));
  const auto to_host = [&]() -> absl::StatusOr<array::HostArray> {
    if (nb::isinstance<ShardedArray>(array)) {
      const auto sharded = nb::cast<ShardedArray>(array);
      const ReleasedGil release;
      return Gather(sharded, *engine, options);
    }
    const array::HostArray host = HostArrayOf(array);
    const ReleasedGil release;
    return array::ToHost(host, options);
  };
  return NumpyOfHost(Unwrap(to_host()));
}

// Rank 0's array on every rank; the others say what they expect by an array of that shape.
nb::object BroadcastArray(nb::handle array, int64_t max_bytes, SharedComm comm) {
  const array::HostArray host = HostArrayOf(array);
  const SharedComm engine = CommOrAlone(std::move(comm));
  const auto broadcast = [&] {
    const ReleasedGil release;
    return array::BroadcastTensor(host.shape_dtype(), engine->rank() == 0 ? &host : nullptr,
                                  *engine, {.max_bytes = max_bytes});
  };
  return NumpyOfHost(Unwrap(broadcast()));
}

}  // namespace

void BindPlace(nb::module_& module) {
  module.def("place", &Place, nb::arg("array"), nb::arg("sharding"),
             nb::arg("comm").none() = nb::none(),
             "The array under exactly this sharding.  With several processes all of them call.");
  module.def("to_host", &ToHost, nb::arg("array"), nb::arg("float_dtype") = nb::none(),
             nb::arg("comm").none() = nb::none());
  module.def("broadcast", &BroadcastArray, nb::arg("array"), nb::arg("max_bytes"),
             nb::arg("comm").none() = nb::none());
}

}  // namespace tessera::python
