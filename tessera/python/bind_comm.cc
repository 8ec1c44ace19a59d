// Processes that work together, through the key-value store that JAX's processes share.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/comm/comm.h"
#include "tessera/comm/key_value.h"
#include "tessera/core/status.h"
#include "tessera/python/bind.h"
#include "tessera/python/callbacks.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_object.h"
#include "tessera/python/runtime.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

nb::str Text(std::string_view text) { return nb::str(text.data(), text.size()); }

Bytes BytesOf(nb::handle value) {
  const auto bytes = nb::cast<nb::bytes>(value);
  return Bytes::CopyOf(std::string_view(bytes.c_str(), bytes.size()));
}

// JAX has one class for all errors of its store and says which one with the text's first word.
bool SaysNothingThere(const nb::python_error& error) {
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  return error.matches(PyExc_TimeoutError) || error.matches(PyExc_KeyError) ||
         text.starts_with("DEADLINE_EXCEEDED") || text.starts_with("NOT_FOUND");
}

// An object with the methods of jax's DistributedRuntimeClient.  They let other threads have the
// GIL while they wait.
class PythonClient final : public comm::KeyValueClient {
 public:
  explicit PythonClient(nb::object client) : client_(std::move(client)) {}

  absl::Status Set(std::string_view key, std::span<const std::byte> value) override {
    return Call([&] {
      Method("key_value_set_bytes")(Text(key), nb::bytes(value.data(), value.size()));
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::optional<Bytes>> Get(std::string_view key,
                                           std::chrono::milliseconds timeout) override {
    return Call([&]() -> absl::StatusOr<std::optional<Bytes>> {
      // Heard here, since nobody else looks while a call waits for other processes.
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      try {
        return BytesOf(Method("blocking_key_value_get_bytes")(Text(key), timeout.count()));
      } catch (nb::python_error& error) {
        if (!SaysNothingThere(error)) throw;
      }
      return std::nullopt;
    });
  }

  absl::StatusOr<std::vector<comm::KeyValue>> List(std::string_view folder) override {
    return Call([&]() -> absl::StatusOr<std::vector<comm::KeyValue>> {
      std::vector<comm::KeyValue> found;
      const nb::object listed = Method("key_value_dir_get_bytes")(Text(folder));
      for (const nb::handle entry : listed) {
        found.push_back({nb::cast<std::string>(entry[0]), BytesOf(entry[1])});
      }
      return found;
    });
  }

  absl::Status Delete(std::string_view key) override {
    return Call([&] {
      Method("key_value_delete")(Text(key));
      return absl::OkStatus();
    });
  }

 private:
  nb::object Method(const char* name) { return client_.get().attr(name); }

  template <typename Body>
  auto Call(Body body) -> decltype(body()) {
    // The connection of the process that forked would be used by two.
    if (!here_) return FailedPrecondition("a Comm does not follow into a forked process");
    return WithPython([&]() -> decltype(body()) {
      try {
        return body();
      } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;  // KeyboardInterrupt comes out as itself
        return Unavailable("the store that the processes share failed: ", error.what());
      } catch (const nb::cast_error&) {
        return Internal("the store that the processes share gave something else than bytes");
      }
    });
  }

  OfThisProcess here_;
  KeptObject client_;
};

std::shared_ptr<comm::Comm> MakeComm(nb::object client, int rank, int size,
                                     const std::string& session, int64_t block_bytes) {
  const comm::KeyValueOptions options = {
      .session = session, .rank = rank, .size = size, .block_bytes = block_bytes};
  return Unwrap(comm::OpenKeyValue(std::make_shared<PythonClient>(std::move(client)), options));
}

comm::Limit LimitOf(std::optional<double> seconds) {
  comm::Limit limit;
  if (!seconds.has_value() || !std::isfinite(*seconds)) return limit;
  limit.timeout =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  return limit;
}

Bytes CopyOf(const nb::bytes& value) {
  return Bytes::CopyOf(std::string_view(value.c_str(), value.size()));
}

nb::bytes ToPythonBytes(const Bytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// Runs a call that waits for the other processes.
template <typename Body>
auto Released(Body body) {
  ReleasedGil release;
  return body();
}

nb::bytes Broadcast(comm::Comm& comm, const nb::bytes& value, int root,
                    std::optional<double> timeout) {
  const Bytes mine = CopyOf(value);
  return ToPythonBytes(
      Unwrap(Released([&] { return comm.Broadcast(mine, root, LimitOf(timeout)); })));
}

nb::list AllGather(comm::Comm& comm, const nb::bytes& value, std::optional<double> timeout) {
  const Bytes mine = CopyOf(value);
  nb::list all;
  for (const Bytes& bytes :
       Unwrap(Released([&] { return comm.AllGather(mine, LimitOf(timeout)); }))) {
    all.append(ToPythonBytes(bytes));
  }
  return all;
}

void Agree(comm::Comm& comm, const std::optional<std::string>& error,
           std::optional<double> timeout) {
  const absl::Status mine = error.has_value() ? InvalidArgument(*error) : absl::OkStatus();
  Check(Released([&] { return comm.Agree(mine, LimitOf(timeout)); }));
}

}  // namespace

void BindComm(nb::module_& module) {
  nb::class_<comm::Comm>(module, "Comm", "Processes that make the same calls in the same order.")
      .def(nb::new_(&MakeComm), nb::arg("client"), nb::arg("rank"), nb::arg("size"),
           nb::arg("session"), nb::arg("block_bytes") = int64_t{1} << 20)
      .def_prop_ro("rank", &comm::Comm::rank)
      .def_prop_ro("size", &comm::Comm::size)
      .def(
          "barrier",
          [](comm::Comm& comm, std::optional<double> timeout) {
            Check(Released([&] { return comm.Barrier(LimitOf(timeout)); }));
          },
          nb::arg("timeout") = nb::none(), "Returns when every process is here.")
      .def("broadcast", &Broadcast, nb::arg("value"), nb::arg("root") = 0,
           nb::arg("timeout") = nb::none(), "The root's bytes, in every process.")
      .def("all_gather", &AllGather, nb::arg("value"), nb::arg("timeout") = nb::none(),
           "Every process's bytes, by rank.")
      .def("agree", &Agree, nb::arg("error").none() = nb::none(), nb::arg("timeout") = nb::none(),
           "The same ValueError in every process when one of them gives an error.")
      .def(
          "abort",
          [](comm::Comm& comm, const std::string& why) {
            Released([&] { comm.Abort(Aborted(why)); });
          },
          nb::arg("why"), "Tells the others that this process takes part in nothing more.");
}

}  // namespace tessera::python
