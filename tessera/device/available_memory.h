// How much memory a load may plan with: the host's, the container's and the devices'.
#ifndef TESSERA_DEVICE_AVAILABLE_MEMORY_H_
#define TESSERA_DEVICE_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/device/device.h"

namespace tessera::device {

// Bytes that this process may still take: what the system calls available, or what is left of the
// tightest limit of the control groups (v1 or v2) that the process is in.  Cached file pages that
// nobody uses count as free.  `root` stands before /proc and /sys.  NotFound when the system does
// not say.
absl::StatusOr<int64_t> AvailableHostMemory(const std::string& root = "");

// The least that is ever advised.
inline constexpr int64_t kLeastMemoryEstimate = 100 << 20;

struct MemoryEstimate {
  int64_t bytes = 0;
  bool floored = false;  // there is less, and `bytes` is kLeastMemoryEstimate
  friend bool operator==(const MemoryEstimate&, const MemoryEstimate&) = default;
};

// Half of the host's available bytes, and of each device that has a limit not more than 0.4 of it
// nor than what is free there.
MemoryEstimate EstimateAvailableMemory(int64_t host_available,
                                       std::span<const std::unique_ptr<Device>> devices);

// The same for this machine and these devices.  Errors of AvailableHostMemory.
absl::StatusOr<MemoryEstimate> EstimateAvailableMemory(const Platform& platform);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_AVAILABLE_MEMORY_H_
