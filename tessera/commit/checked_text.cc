#include "tessera/commit/checked_text.h"

#include "tessera/core/hash128.h"
#include "tessera/core/status.h"

namespace tessera::commit {

std::string AddHash(std::string_view text) { return Concat(HashOf(text).Hex(), "\n", text); }

absl::StatusOr<std::string_view> RemoveHash(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return DataLoss("the record has no first line");
  const std::string_view rest = text.substr(end + 1);
  if (HashOf(rest).Hex() != text.substr(0, end)) {
    return DataLoss("the record is not what its first line says: it was cut short or changed");
  }
  return rest;
}

}  // namespace tessera::commit
