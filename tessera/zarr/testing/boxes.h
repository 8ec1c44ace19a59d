// Boxes: a destination of several boxes of an array, which may share elements.
#ifndef TESSERA_ZARR_TESTING_BOXES_H_
#define TESSERA_ZARR_TESTING_BOXES_H_

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"
#include "tessera/zarr/array.h"

namespace tessera::zarr {

inline Box BoxOf(Dims origin, Dims shape) { return Box::Make(origin, shape).value(); }

class Boxes final : public Destination {
 public:
  // `own_memory`: lends the memory of a box that alone takes all of a part.
  explicit Boxes(bool own_memory) : own_memory_(own_memory) {}

  // REQUIRES: the memory has the box's shape.
  void Add(const Box& box, const StridedView& memory) { boxes_.push_back({box, memory}); }

  std::optional<StridedView> MemoryFor(const Box& box) override {
    if (!own_memory_) return std::nullopt;
    std::optional<StridedView> memory;
    for (const Each& each : boxes_) {
      if (Intersect(each.box, box).empty()) continue;
      if (memory.has_value() || !Contains(each.box, box)) return std::nullopt;
      memory = SubView(each.memory, RelativeTo(box, each.box.origin()));
    }
    return memory;
  }

  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    ++puts_;
    for (const Each& each : boxes_) {
      const Box shared = Intersect(each.box, box);
      if (shared.empty()) continue;
      TESSERA_RETURN_IF_ERROR(
          CopyStrided(SubView(elements, RelativeTo(shared, box.origin())),
                      SubView(each.memory, RelativeTo(shared, each.box.origin()))));
    }
    return absl::OkStatus();
  }

  int64_t puts() const { return puts_; }

 private:
  struct Each {
    Box box;
    StridedView memory;
  };
  const bool own_memory_;
  std::vector<Each> boxes_;
  std::atomic<int64_t> puts_{0};
};

// What is known of stored values: filled by a write, asked by a read.
class Manifest {
 public:
  WriteOptions Fill() {
    return {.on_stored = [this](std::string_view key, const StoredValue& value) {
      MutexLock lock(mutex_);
      values_.insert_or_assign(std::string(key), value);
    }};
  }
  ReadOptions Ask() {
    return {.expected = [this](std::string_view key) -> std::optional<StoredValue> {
      MutexLock lock(mutex_);
      const auto found = values_.find(std::string(key));
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    }};
  }
  void Forget(const std::string& key) {
    MutexLock lock(mutex_);
    values_.erase(key);
  }

 private:
  Mutex mutex_;
  std::map<std::string, StoredValue> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_TESTING_BOXES_H_
