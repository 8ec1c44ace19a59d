// Python objects that C++ keeps, and threads that the interpreter does not know may drop.
#ifndef TESSERA_PYTHON_PY_OBJECT_H_
#define TESSERA_PYTHON_PY_OBJECT_H_

#include <nanobind/nanobind.h>

#include <memory>

namespace tessera::python {

// Keeps the object alive.  The last copy may be dropped by any thread, with or without the GIL, and
// after the interpreter has ended.
std::shared_ptr<const void> KeepAlive(nanobind::object object);

// The same for an object that is called or looked at later, which takes the GIL.
class KeptObject {
 public:
  explicit KeptObject(nanobind::object object);

  // REQUIRES: the GIL is held and the interpreter has not ended.
  nanobind::handle get() const { return object_.get() == nullptr ? nanobind::handle() : *object_; }

 private:
  std::shared_ptr<nanobind::handle> object_;
};

// Lets other threads have the GIL while it lives.
//
// A thread that wants the GIL back while the interpreter ends would be unwound by Python in the
// middle of C++, which ends the process.  It waits here instead, until the process is gone.
class ReleasedGil {
 public:
  ReleasedGil();
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* const state_;
};

// Called last by the thread that ends the interpreter: from now on no other thread gets the GIL
// back.  Such threads are daemons; all others have been waited for.
void FreezeOtherThreads();

// False once the interpreter is going away: then no Python may be called any more.
bool PythonIsAlive();

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_PY_OBJECT_H_
