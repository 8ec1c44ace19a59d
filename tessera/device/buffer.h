// Buffers: a device's memory while it is written, and once it is published.
#ifndef TESSERA_DEVICE_BUFFER_H_
#define TESSERA_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tessera/device/memory_kind.h"

namespace tessera::device {

// Whose memory it is, and who can reach it.
struct Placement {
  int64_t device_id = 0;
  MemoryKind kind = MemoryKind::kDevice;
  // Host code may read and write at its addresses.  Else they mean something to copy queues only.
  bool host_visible = true;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Memory that is shared and never changes again.  A value: copies and slices cost a reference
// count.  The device counts the bytes until the last reference goes; a buffer may outlive it.
class DeviceBuffer {
 public:
  // No bytes, on no device in particular.
  DeviceBuffer() = default;

  // Memory of the caller that `owner` keeps alive and nobody changes.  It counts 0 bytes on the
  // device.
  static DeviceBuffer Borrow(const Placement& placement, std::span<const std::byte> memory,
                             std::shared_ptr<const void> owner) {
    return DeviceBuffer(placement, memory, std::move(owner));
  }

  const Placement& placement() const { return placement_; }
  const std::byte* data() const { return memory_.data(); }
  int64_t size() const { return static_cast<int64_t>(memory_.size()); }

  // What keeps the memory alive.  Buffers with one owner have their bytes in common.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // Bytes [offset, offset + length).  REQUIRES: they lie inside.
  DeviceBuffer Slice(int64_t offset, int64_t length) const;

 private:
  friend class WritableBuffer;
  DeviceBuffer(const Placement& placement, std::span<const std::byte> memory,
               std::shared_ptr<const void> owner)
      : placement_(placement), memory_(memory), owner_(std::move(owner)) {}

  Placement placement_;
  std::span<const std::byte> memory_;
  std::shared_ptr<const void> owner_;
};

// Memory with one holder, to be filled and then published.  What is in it at first means nothing.
class WritableBuffer {
 public:
  WritableBuffer() = default;
  // For devices.  `owner` frees the memory and takes it off the device's account.
  WritableBuffer(const Placement& placement, std::span<std::byte> memory,
                 std::shared_ptr<void> owner)
      : placement_(placement), memory_(memory), owner_(std::move(owner)) {}
  WritableBuffer(WritableBuffer&&) noexcept = default;
  WritableBuffer& operator=(WritableBuffer&&) noexcept = default;

  const Placement& placement() const { return placement_; }
  std::byte* data() const { return memory_.data(); }
  int64_t size() const { return static_cast<int64_t>(memory_.size()); }

  // The same memory, immutable from here on.  REQUIRES: nothing is being copied to it any more.
  DeviceBuffer Publish() && {
    return DeviceBuffer(placement_, std::exchange(memory_, {}), std::move(owner_));
  }

 private:
  Placement placement_;
  std::span<std::byte> memory_;
  std::shared_ptr<void> owner_;
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_BUFFER_H_
