// Many copies at once, between devices and host memory.
#ifndef TESSERA_ARRAY_BOX_COPIES_H_
#define TESSERA_ARRAY_BOX_COPIES_H_

#include <vector>

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

struct BoxCopy {
  CopySide<const std::byte> source;
  CopySide<std::byte> target;
};

// Returns when all are done.  What host code can reach on both sides is copied on all cores, large
// copies in pieces and small ones many at a time; the rest is left to the devices' queues.  The
// first error, after every copy has ended.  REQUIRES: no target overlaps anything else, and a side
// that is not host visible names its device.
absl::Status RunCopies(std::vector<BoxCopy> copies);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_BOX_COPIES_H_
