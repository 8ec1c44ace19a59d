// Environment variables, and the integer texts found in them.
#ifndef TESSERA_CORE_ENVIRONMENT_H_
#define TESSERA_CORE_ENVIRONMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera {

// The variable's text; nullopt when it is not set.
std::optional<std::string> GetEnvironment(const char* name);

// An integer as Python's int() takes it in base 10: optional sign, blanks around it, single
// underscores between digits.  InvalidArgument quotes other text, and numbers past 64 bits.
absl::StatusOr<int64_t> ParseInteger(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_CORE_ENVIRONMENT_H_
