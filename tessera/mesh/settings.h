// The environment variables of the seeds.
#ifndef TESSERA_MESH_SETTINGS_H_
#define TESSERA_MESH_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tessera::mesh {

// MIN_SHARDING_SIZE, a count of elements, read once at first use: 16384 when it is not set, 0 when
// negative.  InvalidArgument naming the variable when its text is no integer.
absl::StatusOr<int64_t> MinShardingSize();

// LOG_SHARDING_MOVE, read once at first use: are corrections of specs logged?
bool LogShardingMove();

// What the texts mean; nullopt: the variable is not set.
absl::StatusOr<int64_t> ParseMinShardingSize(const std::optional<std::string>& text);
// True for true, yes, 1 and on, in any case.
bool ParseLogShardingMove(const std::optional<std::string>& text);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_SETTINGS_H_
