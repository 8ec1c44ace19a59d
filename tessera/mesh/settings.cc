#include "tessera/mesh/settings.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"

namespace tessera::mesh {

absl::StatusOr<int64_t> ParseMinShardingSize(const std::optional<std::string>& text) {
  constexpr int64_t kDefault = 16384;
  if (!text.has_value()) return kDefault;
  const auto size = ParseInteger(*text);
  if (!size.ok()) return Prefixed(size.status(), "MIN_SHARDING_SIZE");
  return std::max<int64_t>(0, *size);
}

bool ParseLogShardingMove(const std::optional<std::string>& text) {
  const std::string lower = absl::AsciiStrToLower(text.value_or(""));
  return lower == "true" || lower == "yes" || lower == "1" || lower == "on";
}

absl::StatusOr<int64_t> MinShardingSize() {
  static const absl::StatusOr<int64_t>& size =
      *new absl::StatusOr<int64_t>(ParseMinShardingSize(GetEnvironment("MIN_SHARDING_SIZE")));
  return size;
}

bool LogShardingMove() {
  static const bool log = ParseLogShardingMove(GetEnvironment("LOG_SHARDING_MOVE"));
  return log;
}

}  // namespace tessera::mesh
