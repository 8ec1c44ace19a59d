// Errors on their way between C++ and Python.
//
// A Status becomes the exception that a Python programmer expects of such a mistake.  An exception
// that a caller's function raises travels through C++ as a Status and comes out as itself.
#ifndef TESSERA_PYTHON_ERRORS_H_
#define TESSERA_PYTHON_ERRORS_H_

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::python {

void BindErrors(nanobind::module_& module);

// What is not found: a key of a mapping, or a file.
enum class NotFoundIs { kKey, kFile };

// Raises the exception of a status that is not OK.  The GIL is held.
[[noreturn]] void Raise(const absl::Status& status, NotFoundIs not_found = NotFoundIs::kKey);

inline void Check(const absl::Status& status, NotFoundIs not_found = NotFoundIs::kKey) {
  if (!status.ok()) Raise(status, not_found);
}

template <typename T>
T Unwrap(absl::StatusOr<T> result, NotFoundIs not_found = NotFoundIs::kKey) {
  if (!result.ok()) Raise(result.status(), not_found);
  return *std::move(result);
}

// The exception that a Status stands for, not raised.
nanobind::object ExceptionOf(const absl::Status& status, NotFoundIs not_found = NotFoundIs::kKey);

// A status that Raise turns back into `error`, traceback and all.  The GIL is held.
absl::Status StatusOf(nanobind::python_error& error);

// A str's text; UnicodeEncodeError, a ValueError, when it holds halves of characters.
std::string Utf8Of(nanobind::handle text);

// TypeError: "<where>: <what>".
[[noreturn]] void RaiseTypeError(std::string_view where, std::string_view what);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_ERRORS_H_
