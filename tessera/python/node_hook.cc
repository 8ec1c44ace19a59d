#include "tessera/python/node_hook.h"

#include <array>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

// Left to the process when it ends, as the interpreter may be gone by then.
std::array<nb::object, 3>& Hooks() {
  static auto* hooks = new std::array<nb::object, 3>;
  return *hooks;
}

}  // namespace

void SetHook(Hook hook, nb::object function) {
  Hooks()[static_cast<size_t>(hook)] = std::move(function);
}

nb::handle GetHook(Hook hook) {
  const nb::object& function = Hooks()[static_cast<size_t>(hook)];
  TESSERA_CHECK(function.is_valid());
  return function;
}

}  // namespace tessera::python
