#include "tessera/device/memory_kind.h"

#include "tessera/core/status.h"

namespace tessera::device {

std::string_view MemoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kPinnedHost:
      return "pinned_host";
    case MemoryKind::kUnpinnedHost:
      return "unpinned_host";
  }
  return "";
}

absl::StatusOr<MemoryKind> ParseMemoryKind(std::string_view name) {
  if (name.empty()) return MemoryKind::kDevice;
  for (const MemoryKind kind :
       {MemoryKind::kDevice, MemoryKind::kPinnedHost, MemoryKind::kUnpinnedHost}) {
    if (name == MemoryKindName(kind)) return kind;
  }
  return InvalidArgument("memory kind '", name,
                         "'; expected 'device', 'pinned_host' or 'unpinned_host'");
}

}  // namespace tessera::device
