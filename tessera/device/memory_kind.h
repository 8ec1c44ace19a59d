// The kinds of memory that a device can place an array in.
#ifndef TESSERA_DEVICE_MEMORY_KIND_H_
#define TESSERA_DEVICE_MEMORY_KIND_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace tessera::device {

enum class MemoryKind {
  kDevice,        // the device's own
  kPinnedHost,    // the host's, locked in place for fast copies
  kUnpinnedHost,  // the host's, pageable
};

// "device", "pinned_host", "unpinned_host": the names that shardings carry.
std::string_view MemoryKindName(MemoryKind kind);

// The kind of that name; "" is the device's own.  InvalidArgument with the known names otherwise.
absl::StatusOr<MemoryKind> ParseMemoryKind(std::string_view name);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_MEMORY_KIND_H_
