#include "tessera/device/host_platform.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/core/byte_budget.h"
#include "tessera/core/status.h"
#include "tessera/device/parallel_copy.h"
#include "tessera/device/spare_memory.h"

namespace tessera::device {
namespace {

// Copies before it returns, on all cores where that pays.
class HostQueue final : public CopyQueue {
 public:
  Event CopyToDevice(const ConstStridedView& host, const StridedView& device) override {
    return Event(CopyStridedInParallel(host, device));
  }
  Event CopyToHost(const ConstStridedView& device, const StridedView& host) override {
    return Event(CopyStridedInParallel(device, host));
  }
  Event CopyBetween(const ConstStridedView& source, int64_t, const StridedView& target) override {
    return Event(CopyStridedInParallel(source, target));
  }
  Event Mark() override { return Event(); }
};

// What a buffer of a host device holds.  The account may outlive the device.
struct Block {
  std::shared_ptr<ByteBudget> account;
  ByteBudget::Reservation reservation;
  std::shared_ptr<std::byte> memory;
};

class HostDevice final : public Device {
 public:
  HostDevice(int64_t id, int64_t limit, std::shared_ptr<SpareMemory> memory)
      : id_(id), account_(std::make_shared<ByteBudget>(limit)), memory_(std::move(memory)) {}

  int64_t id() const override { return id_; }
  absl::StatusOr<Placement> PlacementOf(MemoryKind kind) const override {
    return Placement{.device_id = id_, .kind = kind, .host_visible = true};
  }
  int64_t in_use() const override { return account_->in_use(); }
  int64_t peak() const override { return account_->peak(); }
  int64_t limit() const override { return account_->limit(); }

  absl::StatusOr<WritableBuffer> Allocate(int64_t bytes, MemoryKind kind) override {
    TESSERA_CHECK(bytes >= 0);
    auto reservation = account_->TryAcquire(bytes);
    if (!reservation.has_value()) {
      return ResourceExhausted("device ", id_, " has no room for ", bytes, " bytes: ", in_use(),
                               " of its limit of ", limit(), " are in use");
    }
    return Fill({id_, kind, true}, bytes, {account_, *std::move(reservation), nullptr});
  }

  absl::StatusOr<WritableBuffer> AllocateStaging(int64_t bytes) override {
    TESSERA_CHECK(bytes >= 0);
    return Fill({id_, MemoryKind::kPinnedHost, true}, bytes, {});
  }

  CopyQueue& copies() override { return queue_; }
  absl::StatusOr<std::unique_ptr<CopyQueue>> MakeQueue() override {
    return std::make_unique<HostQueue>();
  }

 private:
  absl::StatusOr<WritableBuffer> Fill(const Placement& placement, int64_t bytes,
                                      Block block) const {
    block.memory = memory_->Allocate(bytes);
    if (bytes > 0 && block.memory == nullptr) {
      return ResourceExhausted("device ", id_, ": the system has no ", bytes, " bytes; ", in_use(),
                               " of the device's limit of ", limit(), " are in use");
    }
    const std::span memory(block.memory.get(), static_cast<size_t>(bytes));
    return WritableBuffer(placement, memory, std::make_shared<Block>(std::move(block)));
  }

  const int64_t id_;
  const std::shared_ptr<ByteBudget> account_;
  const std::shared_ptr<SpareMemory> memory_;  // of all devices together
  HostQueue queue_;
};

class HostPlatform final : public Platform {
 public:
  HostPlatform(int process, std::vector<std::unique_ptr<Device>> devices)
      : process_(process), devices_(std::move(devices)) {}

  int process() const override { return process_; }
  std::span<const std::unique_ptr<Device>> devices() const override { return devices_; }
  Device* Find(int64_t id) const override {
    const auto found = std::lower_bound(devices_.begin(), devices_.end(), id,
                                        [](const std::unique_ptr<Device>& device, int64_t wanted) {
                                          return device->id() < wanted;
                                        });
    return found == devices_.end() || (*found)->id() != id ? nullptr : found->get();
  }

 private:
  const int process_;
  const std::vector<std::unique_ptr<Device>> devices_;  // by id
};

}  // namespace

absl::StatusOr<std::unique_ptr<Platform>> MakeHostPlatform(const HostPlatformOptions& options) {
  if (options.count < 0 || options.limit_bytes < 0 || options.spare_bytes < 0) {
    return InvalidArgument("a host platform of ", options.count, " devices with ",
                           options.limit_bytes, " bytes each and ", options.spare_bytes,
                           " spare bytes; expected no negative number");
  }
  std::vector<int64_t> ids = options.ids;
  if (ids.empty()) {
    ids.resize(static_cast<size_t>(options.count));
    std::iota(ids.begin(), ids.end(), 0);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) return InvalidArgument("device ", *twice, " is given twice");
  const auto memory = SpareMemory::Make(options.spare_bytes);
  std::vector<std::unique_ptr<Device>> devices;
  devices.reserve(ids.size());
  for (const int64_t id : ids) {
    devices.push_back(std::make_unique<HostDevice>(id, options.limit_bytes, memory));
  }
  return std::make_unique<HostPlatform>(options.process, std::move(devices));
}

}  // namespace tessera::device
