#include "tessera/device/buffer_blocks.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::device {
namespace {

// What every device aligns its own allocations to, at the least.
constexpr int64_t kAlignment = 256;

}  // namespace

int64_t BufferBlocks::BytesInBlock(int64_t bytes) {
  if (bytes >= kSmallBytes) return 0;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

BufferBlocks::Open& BufferBlocks::OpenFor(const Device& device, MemoryKind kind) {
  for (Open& open : open_) {
    if (open.device == &device && open.kind == kind) return open;
  }
  open_.push_back({.device = &device, .kind = kind, .expected = expected_bytes_});
  return open_.back();
}

absl::StatusOr<WritableBuffer> BufferBlocks::Allocate(Device& device, int64_t bytes,
                                                      MemoryKind kind) {
  TESSERA_CHECK(bytes >= 0);
  const int64_t taken = BytesInBlock(bytes);
  if (taken == 0) return device.Allocate(bytes, kind);
  MutexLock lock(mutex_);
  Open& open = OpenFor(device, kind);
  if (open.block == nullptr || taken > open.block->size() - open.used) {
    auto block = device.Allocate(std::clamp(open.expected, taken, kMostBytes), kind);
    if (absl::IsResourceExhausted(block.status())) return device.Allocate(bytes, kind);
    TESSERA_RETURN_IF_ERROR(block.status());
    open.block = std::make_shared<WritableBuffer>(*std::move(block));
    open.used = 0;
  }
  std::byte* const data = open.block->data() + open.used;
  open.used += taken;
  open.expected -= taken;
  // Each has an owner of its own, as they have no bytes in common.
  return WritableBuffer(open.block->placement(), {data, static_cast<size_t>(bytes)},
                        std::shared_ptr<void>(open.block, data));
}

}  // namespace tessera::device
