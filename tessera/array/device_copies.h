// Many copies at once, between devices and host memory.
#ifndef TESSERA_ARRAY_DEVICE_COPIES_H_
#define TESSERA_ARRAY_DEVICE_COPIES_H_

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/core/strided.h"
#include "tessera/device/device.h"

namespace tessera::array {

// One side of a copy: memory of a device, or of the host where `device` is nullptr.
template <typename Byte>
struct CopySide {
  BasicStridedView<Byte> view;
  device::Device* device = nullptr;
  bool host_visible = true;
};

// Both sides have the same shape and element size.
struct DeviceCopy {
  CopySide<const std::byte> source;
  CopySide<std::byte> target;
};

// Copies by number: a plan may have a million of them, and what they look at is larger than what
// it takes to find out, so each is made when its turn comes.
struct CopyList {
  int64_t count = 0;
  absl::FunctionRef<int64_t(int64_t index)> bytes_of;
  absl::FunctionRef<DeviceCopy(int64_t index)> make;  // called by several threads at once
};

// Returns when all are done.  What host code can reach on both sides is copied on all cores, large
// copies in pieces and small ones many at a time; the rest is left to the devices' queues.  The
// first error of a queue, after every copy has ended.  REQUIRES: no target overlaps anything else,
// and a side that is not host visible names its device.
absl::Status RunCopies(const CopyList& copies);
absl::Status RunCopies(std::span<const DeviceCopy> copies);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_DEVICE_COPIES_H_
