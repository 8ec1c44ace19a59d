// A program outside the tree that uses an installed tessera.
#include <cstdio>

#include "tessera/core/dtype.h"
#include "tessera/core/status.h"

int main() {
  const auto dtype = tessera::ParseDType("bfloat16");
  if (!dtype.ok()) return 1;
  const absl::Status error = tessera::NotFound("no step ", 7);
  std::printf("%d bytes; %s\n", tessera::DTypeBytes(*dtype), error.ToString().c_str());
}
