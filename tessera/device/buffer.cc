#include "tessera/device/buffer.h"

#include "tessera/core/status.h"

namespace tessera::device {

DeviceBuffer DeviceBuffer::Slice(int64_t offset, int64_t length) const {
  TESSERA_CHECK(offset >= 0 && length >= 0 && offset <= size() && length <= size() - offset);
  return DeviceBuffer(placement_,
                      memory_.subspan(static_cast<size_t>(offset), static_cast<size_t>(length)),
                      owner_);
}

}  // namespace tessera::device
