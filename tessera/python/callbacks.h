// Python functions that C++ calls from threads of its own.
#ifndef TESSERA_PYTHON_CALLBACKS_H_
#define TESSERA_PYTHON_CALLBACKS_H_

#include <nanobind/nanobind.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/status.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_object.h"

namespace tessera::python {

// Runs `body` with the GIL.  What it raises is the status; Cancelled once the interpreter ends.
template <typename Body>
auto WithPython(Body&& body) -> decltype(body()) {
  if (!PythonIsAlive()) return Cancelled("the Python interpreter has ended");
  nanobind::gil_scoped_acquire gil;
  nanobind::error_scope kept;  // something may be dropped while an exception is on its way
  try {
    return body();
  } catch (nanobind::python_error& error) {
    return StatusOf(error);
  }
}

// Calls a function with arguments that are made when the GIL is held.
template <typename... Args>
absl::Status CallPython(const KeptObject& function, const Args&... args) {
  return WithPython([&] {
    function.get()(args...);
    return absl::OkStatus();
  });
}

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_CALLBACKS_H_
