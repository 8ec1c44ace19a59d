#include "tessera/checkpoint/snapshot.h"

#include <algorithm>
#include <utility>

#include "tessera/checkpoint/snapshot_copies.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/tree/walk.h"

namespace tessera::checkpoint {
namespace {

// Parts share memory up to this size; it is a multiple of a huge page.
constexpr int64_t kSlabBytes = int64_t{32} << 20;

int64_t Aligned(int64_t bytes) {
  return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
}

// Where a part's elements are now.
struct Source {
  ConstStridedView view;
  device::Device* device = nullptr;  // whose memory it is; nullptr: the host's
};

absl::StatusOr<Source> SourceOf(const array::Value& value, const PlannedPart& part,
                                const device::Platform* platform) {
  if (const auto* host = std::get_if<array::HostArray>(&value)) {
    return Source{SubView(host->view(), part.box)};
  }
  const auto& sharded = std::get<array::ShardedArray>(value);
  const auto shards = sharded.shards();
  const auto shard = std::find_if(shards.begin(), shards.end(), [&](const array::Shard& s) {
    return s.device.id == part.device_id;
  });
  if (shard == shards.end()) {
    return FailedPrecondition("the array has no shard here of device ", *part.device_id);
  }
  Source source{SubView(shard->View(sharded.dtype()), RelativeTo(part.box, shard->box.origin()))};
  if (shard->buffer.placement().host_visible) return source;
  source.device = platform == nullptr ? nullptr : platform->Find(shard->device.id);
  if (source.device == nullptr) {
    return FailedPrecondition("device ", shard->device.id,
                              ", whose memory the host cannot look at, is none of the platform's");
  }
  return source;
}

// Hands out memory for one part after the other, as the sizes of all are known: what is asked of
// the system is the same for every save of the same plan.
class Slabs {
 public:
  explicit Slabs(device::SpareMemory& memory) : memory_(memory) {}

  // The next place gets `bytes`.
  void Reserve(int64_t bytes) {
    const int64_t aligned = Aligned(bytes);
    if (slabs_.empty() || slabs_.back().bytes + aligned > kSlabBytes) slabs_.push_back({});
    places_.push_back({slabs_.size() - 1, slabs_.back().bytes});
    slabs_.back().bytes += aligned;
  }

  absl::Status Allocate() {
    for (Slab& slab : slabs_) {
      const int64_t kept = memory_.kept_bytes();
      slab.memory = memory_.Allocate(slab.bytes);
      if (slab.memory == nullptr && slab.bytes > 0) {
        return ResourceExhausted("the system has no ", slab.bytes,
                                 " bytes for a copy of what is saved");
      }
      slab.touched = memory_.kept_bytes() < kept;
    }
    return absl::OkStatus();
  }

  std::byte* At(size_t place) const {
    return slabs_[places_[place].slab].memory.get() + places_[place].offset;
  }
  device::TargetMemory MemoryOf(size_t place) const {
    return slabs_[places_[place].slab].touched ? device::TargetMemory::kTouched
                                               : device::TargetMemory::kFresh;
  }
  std::vector<std::shared_ptr<const void>> TakeMemory() {
    std::vector<std::shared_ptr<const void>> memory;
    for (Slab& slab : slabs_) memory.push_back(std::move(slab.memory));
    return memory;
  }

 private:
  struct Slab {
    int64_t bytes = 0;
    std::shared_ptr<std::byte> memory = nullptr;
    bool touched = false;
  };
  struct Place {
    size_t slab = 0;
    int64_t offset = 0;
  };
  device::SpareMemory& memory_;
  std::vector<Slab> slabs_;
  std::vector<Place> places_;
};

std::vector<const array::Value*> ArrayLeaves(const array::ValueTree& tree) {
  std::vector<const array::Value*> leaves;
  const absl::Status walked =
      tree::ForEachLeaf(tree, [&](const tree::KeyPathView&, const array::Value& value) {
        if (!std::holds_alternative<array::Opaque>(value)) leaves.push_back(&value);
      });
  TESSERA_CHECK(walked.ok());
  return leaves;
}

// The parts of one rank, and the copies that take them.
class Taker {
 public:
  Taker(device::SpareMemory& memory, const SnapshotOptions& options)
      : options_(options), slabs_(memory) {}

  absl::Status Add(size_t a, const PlannedArray& array, const array::Value& value) {
    for (size_t p = 0; p < array.parts.size(); ++p) {
      if (array.parts[p].rank != options_.rank) continue;
      auto source = SourceOf(value, array.parts[p], options_.platform);
      if (!source.ok()) return Prefixed(source.status(), array.key);
      AddPart({a, p, source->view}, array, source->device);
    }
    return absl::OkStatus();
  }

  absl::Status Copy() {
    TESSERA_RETURN_IF_ERROR(slabs_.Allocate());
    for (size_t i = 0; i < copies_.size(); ++i) {
      SnapshotCopy& copy = copies_[i];
      copy.target = RowMajorView(slabs_.At(i), copy.source.shape, DTypeBytes(copy.to));
      copy.memory = slabs_.MemoryOf(i);
      parts_[copied_[i]].elements = AsConst(copy.target);
    }
    return RunSnapshotCopies(copies_);
  }

  std::vector<HeldPart> TakeParts() { return std::move(parts_); }
  std::vector<std::shared_ptr<const void>> TakeOwners() { return slabs_.TakeMemory(); }

 private:
  void AddPart(HeldPart part, const PlannedArray& array, device::Device* device) {
    const DType stored = array.metadata.dtype;
    const bool must = device != nullptr || array.source_dtype != stored;
    parts_.push_back(std::move(part));
    if (options_.mode == SnapshotMode::kShare && !must) return;
    const ConstStridedView& source = parts_.back().elements;
    slabs_.Reserve(*NumBytes(stored, source.shape));
    copied_.push_back(parts_.size() - 1);
    copies_.push_back(
        {.source = source, .from = array.source_dtype, .to = stored, .device = device});
  }

  const SnapshotOptions& options_;
  Slabs slabs_;
  std::vector<HeldPart> parts_;
  std::vector<SnapshotCopy> copies_;
  std::vector<size_t> copied_;  // the part of each copy
};

}  // namespace

absl::StatusOr<Snapshot> Snapshot::Take(const SavePlan& plan, const array::ValueTree& tree,
                                        device::SpareMemory& memory,
                                        const SnapshotOptions& options) {
  const std::vector<const array::Value*> leaves = ArrayLeaves(tree);
  TESSERA_CHECK(leaves.size() == plan.arrays.size());
  Taker taker(memory, options);
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    TESSERA_RETURN_IF_ERROR(taker.Add(a, plan.arrays[a], *leaves[a]));
  }
  TESSERA_RETURN_IF_ERROR(taker.Copy());
  Snapshot snapshot;
  snapshot.parts_ = taker.TakeParts();
  snapshot.owners_ = taker.TakeOwners();
  if (options.mode == SnapshotMode::kShare) {
    snapshot.owners_.push_back(std::make_shared<const array::ValueTree>(tree));
  }
  return snapshot;
}

}  // namespace tessera::checkpoint
