// What each part of the module adds to it.
#ifndef TESSERA_PYTHON_BIND_H_
#define TESSERA_PYTHON_BIND_H_

#include <nanobind/nanobind.h>

namespace tessera::python {

void BindArray(nanobind::module_& module);
void BindComm(nanobind::module_& module);
void BindPlace(nanobind::module_& module);
void BindDlpack(nanobind::module_& module);
void BindLayout(nanobind::module_& module);
void BindLoad(nanobind::module_& module);
void BindMesh(nanobind::module_& module);
void BindRules(nanobind::module_& module);
void BindSave(nanobind::module_& module);
void BindSharding(nanobind::module_& module);
void BindSteps(nanobind::module_& module);
void BindTree(nanobind::module_& module);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_BIND_H_
