// tessera._core: the library as Python sees it.  The package beside it gives it its public face.
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_object.h"

namespace tessera::python {

NB_MODULE(_core, module) {
  // Threads of ours may hold arrays until the interpreter is gone; that is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = TESSERA_VERSION;
  module.def("freeze_other_threads", &FreezeOtherThreads);
  BindErrors(module);
  BindTree(module);
  BindMesh(module);
  BindSharding(module);
  BindRules(module);
  BindLayout(module);
  BindDlpack(module);
  BindArray(module);
  BindComm(module);
  BindPlace(module);
  BindSave(module);
  BindLoad(module);
  BindSteps(module);
}

}  // namespace tessera::python
