#include "tessera/python/py_object.h"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace tessera::python {

namespace nb = nanobind;

namespace {

// Python's own function, which had another name before 3.13 and is in no stable interface of
// earlier versions, though all of them have it.
using IsFinalizing = int (*)();
IsFinalizing FindIsFinalizing() {
  void* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (found == nullptr) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  return reinterpret_cast<IsFinalizing>(found);
}

// The thread that ends the interpreter, once it does.
std::atomic<std::thread::id>& EndingThread() {
  static std::atomic<std::thread::id> thread;
  return thread;
}

bool IsFrozen() {
  const std::thread::id ending = EndingThread();
  return ending != std::thread::id() && ending != std::this_thread::get_id();
}

// A thread that asks for the GIL while the interpreter ends never comes back, so that an object is
// left behind instead.
void Drop(nb::handle object) {
  if (IsFrozen() || !PythonIsAlive()) return;
  nb::gil_scoped_acquire gil;
  object.dec_ref();
}

}  // namespace

bool PythonIsAlive() {
  static const IsFinalizing is_finalizing = FindIsFinalizing();
  return Py_IsInitialized() != 0 && (is_finalizing == nullptr || is_finalizing() == 0);
}

ReleasedGil::ReleasedGil() : state_(PyEval_SaveThread()) {}

ReleasedGil::~ReleasedGil() {
  while (IsFrozen()) std::this_thread::sleep_for(std::chrono::hours(1));
  PyEval_RestoreThread(state_);
}

void FreezeOtherThreads() { EndingThread() = std::this_thread::get_id(); }

KeptObject::KeptObject(nb::object object)
    : object_(new nb::handle(object.release()), [](nb::handle* kept) {
        Drop(*kept);
        delete kept;
      }) {}

std::shared_ptr<const void> KeepAlive(nb::object object) {
  PyObject* kept = object.release().ptr();
  return {static_cast<const void*>(kept), [kept](const void*) { Drop(kept); }};
}

}  // namespace tessera::python
