// Device: memory with a limit, and the copies to and from it.  Platform: this process's devices.
#ifndef TESSERA_DEVICE_DEVICE_H_
#define TESSERA_DEVICE_DEVICE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "tessera/device/buffer.h"
#include "tessera/device/copy_queue.h"
#include "tessera/device/memory_kind.h"

namespace tessera::device {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Thread-safe.  Belongs to its platform and is lent.
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The id that meshes call it by.
  virtual int64_t id() const = 0;

  // Where memory of this kind lies.  InvalidArgument when the device has none of it.
  virtual absl::StatusOr<Placement> PlacementOf(MemoryKind kind) const = 0;

  // Bytes of all kinds that buffers of this device hold; the most that they ever held; and how many
  // they may.
  virtual int64_t in_use() const = 0;
  virtual int64_t peak() const = 0;
  virtual int64_t limit() const = 0;

  // Memory for a shard.  ResourceExhausted, naming the device, what was asked, what is in use and
  // the limit, when it is not there.  REQUIRES: bytes >= 0.
  virtual absl::StatusOr<WritableBuffer> Allocate(int64_t bytes,
                                                  MemoryKind kind = MemoryKind::kDevice) = 0;

  // Host memory that copies of this device are fastest with.  It is not counted.
  virtual absl::StatusOr<WritableBuffer> AllocateStaging(int64_t bytes) = 0;

  // The queue that everybody shares.
  virtual CopyQueue& copies() = 0;
  // One of the caller's own.  The device must outlive it.
  virtual absl::StatusOr<std::unique_ptr<CopyQueue>> MakeQueue() = 0;

 protected:
  Device() = default;
};

// Thread-safe.  Made once by who starts the work, and outlives it.
class Platform {
 public:
  virtual ~Platform() = default;
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  // The number that meshes give to this process.
  virtual int process() const = 0;

  // In order of their ids.
  virtual std::span<const std::unique_ptr<Device>> devices() const = 0;

  // The device of that id, or nullptr.
  virtual Device* Find(int64_t id) const = 0;

 protected:
  Platform() = default;
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_DEVICE_H_
