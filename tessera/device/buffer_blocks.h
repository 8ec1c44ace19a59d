// BufferBlocks: many small buffers, cut from few allocations.
#ifndef TESSERA_DEVICE_BUFFER_BLOCKS_H_
#define TESSERA_DEVICE_BUFFER_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/mutex.h"
#include "tessera/device/device.h"

namespace tessera::device {

// For buffers that are made together and live about as long as each other, as the arrays of a state
// do: one by one they would cost more than what is read into them.  A block, of a MiB at the
// most, stays as long as one of its buffers does, and so long its device counts all of it.
//
// Thread-safe.  Buffers may outlive it; the devices may not be gone before.
class BufferBlocks {
 public:
  // Buffers of this size or more are allocated by themselves.
  static constexpr int64_t kSmallBytes = int64_t{64} << 10;
  // Of a block.  Larger ones would be in huge pages, which for memory that is used bit by bit were
  // no faster.
  static constexpr int64_t kMostBytes = int64_t{1} << 20;

  // What a buffer takes of a block: more than its size, so that the next one is aligned as well.
  // 0 for one that is not small.
  static int64_t BytesInBlock(int64_t bytes);

  // `expected_bytes`: BytesInBlock of all buffers that one device will be asked for.  With fewer,
  // the end of the last block stays empty.
  explicit BufferBlocks(int64_t expected_bytes) : expected_bytes_(expected_bytes) {}

  // As Device::Allocate.  A device that has no room for a block may still have some for the buffer.
  absl::StatusOr<WritableBuffer> Allocate(Device& device, int64_t bytes, MemoryKind kind);

 private:
  // What is being cut for one device.
  struct Open {
    const Device* device = nullptr;
    MemoryKind kind = MemoryKind::kDevice;
    int64_t expected = 0;  // still to come
    std::shared_ptr<WritableBuffer> block = {};
    int64_t used = 0;  // of the block
  };

  Open& OpenFor(const Device& device, MemoryKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t expected_bytes_;
  Mutex mutex_;
  std::vector<Open> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::device

#endif  // TESSERA_DEVICE_BUFFER_BLOCKS_H_
