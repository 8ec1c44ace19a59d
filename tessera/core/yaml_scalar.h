// The core schema of YAML 1.2: what a plain scalar means.
#ifndef TESSERA_CORE_YAML_SCALAR_H_
#define TESSERA_CORE_YAML_SCALAR_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"

namespace tessera {

// null, a truth value, a number, else the text itself.  InvalidArgument for an integer that does
// not fit 64 bits or a float beyond what a double holds.
absl::StatusOr<Json> ResolvePlainScalar(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_CORE_YAML_SCALAR_H_
