// Devices whose memory host code must not touch, and whose copies run only when they are waited
// for.
//
// What reaches past the copy queues, or does not wait for them, gets wrong bytes here; on host
// devices it would pass.
#ifndef TESSERA_DEVICE_TESTING_FAR_PLATFORM_H_
#define TESSERA_DEVICE_TESTING_FAR_PLATFORM_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/device/device.h"

namespace tessera::device::testing {

// Copies when it is first waited for.
class LateCopy final : public Event::State {
 public:
  LateCopy(ConstStridedView source, StridedView target)
      : source_(std::move(source)), target_(std::move(target)) {}

  bool done() const override {
    MutexLock lock(mutex_);
    return done_;
  }
  absl::Status Wait() const override {
    MutexLock lock(mutex_);
    if (!std::exchange(done_, true)) status_ = CopyStrided(source_, target_);
    return status_;
  }

 private:
  const ConstStridedView source_;
  const StridedView target_;
  mutable Mutex mutex_;
  mutable bool done_ ABSL_GUARDED_BY(mutex_) = false;
  mutable absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class FarQueue final : public CopyQueue {
 public:
  Event CopyToDevice(const ConstStridedView& host, const StridedView& device) override {
    return Late(host, device);
  }
  Event CopyToHost(const ConstStridedView& device, const StridedView& host) override {
    return Late(device, host);
  }
  Event CopyBetween(const ConstStridedView& source, int64_t, const StridedView& target) override {
    return Late(source, target);
  }
  Event Mark() override { return Event(); }

 private:
  static Event Late(const ConstStridedView& source, const StridedView& target) {
    return Event(std::make_shared<const LateCopy>(source, target));
  }
};

class FarDevice final : public Device {
 public:
  explicit FarDevice(int64_t id) : id_(id) {}

  int64_t id() const override { return id_; }
  absl::StatusOr<Placement> PlacementOf(MemoryKind kind) const override {
    return Placement{id_, kind, kind != MemoryKind::kDevice};
  }
  int64_t in_use() const override { return 0; }
  int64_t peak() const override { return 0; }
  int64_t limit() const override { return kNoLimit; }
  absl::StatusOr<WritableBuffer> Allocate(int64_t bytes, MemoryKind kind) override {
    const auto size = static_cast<size_t>(bytes);
    const auto memory = std::make_shared<std::vector<std::byte>>(size);
    TESSERA_ASSIGN_OR_RETURN(const Placement placement, PlacementOf(kind));
    return WritableBuffer(placement, *memory, memory);
  }
  absl::StatusOr<WritableBuffer> AllocateStaging(int64_t bytes) override {
    return Allocate(bytes, MemoryKind::kPinnedHost);
  }
  CopyQueue& copies() override { return queue_; }
  absl::StatusOr<std::unique_ptr<CopyQueue>> MakeQueue() override {
    return std::make_unique<FarQueue>();
  }

 private:
  const int64_t id_;
  FarQueue queue_;
};

class FarPlatform final : public Platform {
 public:
  // REQUIRES: the ids ascend.
  FarPlatform(int process, const std::vector<int64_t>& ids) : process_(process) {
    for (const int64_t id : ids) devices_.push_back(std::make_unique<FarDevice>(id));
  }

  int process() const override { return process_; }
  std::span<const std::unique_ptr<Device>> devices() const override { return devices_; }
  Device* Find(int64_t id) const override {
    for (const auto& device : devices_) {
      if (device->id() == id) return device.get();
    }
    return nullptr;
  }

 private:
  const int process_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace tessera::device::testing

#endif  // TESSERA_DEVICE_TESTING_FAR_PLATFORM_H_
