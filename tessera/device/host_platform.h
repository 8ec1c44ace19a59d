// HostPlatform: any number of virtual devices whose memory is the host's.
#ifndef TESSERA_DEVICE_HOST_PLATFORM_H_
#define TESSERA_DEVICE_HOST_PLATFORM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/device/device.h"

namespace tessera::device {

struct HostPlatformOptions {
  int64_t count = 1;
  int64_t limit_bytes = kNoLimit;  // of each device
  int process = 0;
  // One for each device, instead of 0 to count - 1.
  std::vector<int64_t> ids = {};
  // How much memory of buffers that are gone is kept for new ones; see SpareMemory.
  int64_t spare_bytes = int64_t{4} << 30;
};

// InvalidArgument when an id is given twice, or a count or limit is negative.
absl::StatusOr<std::unique_ptr<Platform>> MakeHostPlatform(const HostPlatformOptions& options);

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_HOST_PLATFORM_H_
