#include "tessera/python/errors.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/python/py_object.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

constexpr char kRaisedUrl[] = "tessera/python-exception";

// Exceptions that are on their way through C++, by the number that their status carries.
class RaisedExceptions {
 public:
  std::string Add(nb::object exception) {
    MutexLock lock(mutex_);
    const std::string id = Concat(++last_);
    raised_.emplace(id, KeptObject(std::move(exception)));
    return id;
  }

  // Stays known: a status may be looked at more than once.  The oldest are forgotten.
  nb::object Find(const std::string& id) {
    MutexLock lock(mutex_);
    const auto found = raised_.find(id);
    if (found == raised_.end()) return nb::object();
    return nb::borrow(found->second.get());
  }

  void Forget() {
    std::optional<KeptObject> forgotten;  // dropped without the lock: it may run Python code
    MutexLock lock(mutex_);
    const auto oldest = raised_.find(Concat(last_ - kMost));
    if (oldest == raised_.end()) return;
    forgotten = std::move(oldest->second);
    raised_.erase(oldest);
  }

 private:
  static constexpr int64_t kMost = 64;
  Mutex mutex_;
  int64_t last_ = 0;
  absl::flat_hash_map<std::string, KeptObject> raised_;
};

RaisedExceptions& Raised() {
  static auto* raised = new RaisedExceptions;  // outlives the interpreter
  return *raised;
}

// Classes of the package's own, made when the module is.
struct OwnClasses {
  nb::object base, data_loss, cancelled, duplicate_axis, indivisible;
};

OwnClasses& Own() {
  static auto* own = new OwnClasses;
  return *own;
}

nb::handle KindClass(const absl::Status& status) {
  const std::optional<ErrorKind> kind = KindOf(status);
  if (!kind.has_value()) return {};
  switch (*kind) {
    case ErrorKind::kNoMesh:
      return PyExc_AssertionError;
    case ErrorKind::kDuplicateAxis:
      return Own().duplicate_axis;
    case ErrorKind::kIndivisible:
      return Own().indivisible;
    default:
      return {};
  }
}

nb::handle CodeClass(const absl::Status& status, NotFoundIs not_found) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return PyExc_ValueError;
    case absl::StatusCode::kNotFound:
      return not_found == NotFoundIs::kFile ? PyExc_FileNotFoundError : PyExc_KeyError;
    case absl::StatusCode::kUnimplemented:
      return PyExc_NotImplementedError;
    case absl::StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    case absl::StatusCode::kPermissionDenied:
      return PyExc_PermissionError;
    case absl::StatusCode::kAlreadyExists:
      return PyExc_FileExistsError;
    case absl::StatusCode::kDeadlineExceeded:
      return PyExc_TimeoutError;
    case absl::StatusCode::kDataLoss:
      return Own().data_loss;
    case absl::StatusCode::kCancelled:
      return Own().cancelled;
    default:
      return Own().base;
  }
}

nb::object NewClass(nb::module_& module, const char* name, nb::handle bases, const char* doc) {
  const std::string full = Concat("tessera.", name);
  nb::object made = nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
  module.attr(name) = made;
  return made;
}

}  // namespace

void BindErrors(nb::module_& module) {
  OwnClasses& own = Own();
  own.base = NewClass(module, "TesseraError", PyExc_RuntimeError, "What no other class says.");
  own.data_loss = NewClass(module, "DataLossError", PyExc_OSError,
                           "Stored bytes are gone or are not those that were written.");
  own.cancelled = NewClass(module, "CancelledError", own.base, "The work was stopped.");
  own.duplicate_axis = NewClass(module, "DuplicateAxisError", PyExc_ValueError,
                                "A spec uses one axis of the mesh twice.");
  own.indivisible = NewClass(module, "IndivisibleError", PyExc_ValueError,
                             "A dimension does not split evenly over its axes.");
}

nb::object ExceptionOf(const absl::Status& status, NotFoundIs not_found) {
  if (const auto id = status.GetPayload(kRaisedUrl)) {
    nb::object raised = Raised().Find(std::string(*id));
    if (raised.is_valid()) return raised;
  }
  nb::handle made = KindClass(status);
  if (!made.is_valid()) made = CodeClass(status, not_found);
  const absl::string_view message = status.message();
  // What is no text of Python's is shown, not refused: file names may hold anything.
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  return made(text);
}

void Raise(const absl::Status& status, NotFoundIs not_found) {
  const nb::object exception = ExceptionOf(status, not_found);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

absl::Status StatusOf(nb::python_error& error) {
  // Before Python 3.12 an exception that is caught in C++ does not know its traceback.
  if (error.traceback().is_valid()) {
    PyException_SetTraceback(error.value().ptr(), error.traceback().ptr());
  }
  Raised().Forget();
  absl::Status status = absl::UnknownError(Concat("a Python function raised ", error.what()));
  status.SetPayload(kRaisedUrl, absl::Cord(Raised().Add(nb::borrow(error.value()))));
  return status;
}

std::string Utf8Of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nb::python_error();
  return {bytes, static_cast<size_t>(size)};
}

void RaiseTypeError(std::string_view where, std::string_view what) {
  const std::string text = where.empty() ? std::string(what) : Concat(where, ": ", what);
  throw nb::type_error(text.c_str());
}

}  // namespace tessera::python
