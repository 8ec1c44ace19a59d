#include "tessera/device/parallel_copy.h"

#include <algorithm>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/pieces.h"
#include "tessera/device/stream_copy.h"

namespace tessera::device {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kPieceBytes = int64_t{4} << 20;
// Of both sides together, a block stays in a core's own cache.
constexpr int64_t kBlockBytes = int64_t{512} << 10;
// A copy of this size leaves little of itself in the caches.
constexpr int64_t kStreamBytes = int64_t{16} << 20;

using Copy = absl::Status (*)(const ConstStridedView&, const StridedView&);

Copy CopyFor(int64_t bytes, TargetMemory memory) {
  const bool streams = memory == TargetMemory::kTouched && bytes >= kStreamBytes;
  return streams ? &StreamStrided : &CopyStrided;
}

absl::Status CheckCopies(std::span<const BoxCopy> copies) {
  for (const BoxCopy& copy : copies) {
    if (copy.source.shape != copy.box.shape() || copy.target.shape != copy.box.shape()) {
      return InvalidArgument("box ", copy.box.Text(), " is copied from shape ",
                             ShapeText(copy.source.shape), " to ", ShapeText(copy.target.shape));
    }
    const int64_t element = copies[0].source.element_bytes;
    if (copy.source.element_bytes != element || copy.target.element_bytes != element ||
        copy.box.rank() != copies[0].box.rank()) {
      return InvalidArgument("box ", copy.box.Text(), " of elements of ", copy.source.element_bytes,
                             " and ", copy.target.element_bytes, " bytes is copied with box ",
                             copies[0].box.Text(), " of elements of ", element);
    }
  }
  return absl::OkStatus();
}

// Copies ordered by where they begin in the first dimension, so that those of a block are found
// without looking at all.
class Copies {
 public:
  explicit Copies(std::span<const BoxCopy> copies) {
    for (const BoxCopy& copy : copies) {
      if (copy.box.empty()) continue;
      sorted_.push_back(&copy);
      cover_ = sorted_.size() == 1 ? copy.box : Cover(cover_, copy.box);
      bytes_ += *copy.box.num_elements() * copy.source.element_bytes;
      if (copy.box.rank() > 0) longest_ = std::max(longest_, copy.box.shape()[0]);
    }
    std::stable_sort(sorted_.begin(), sorted_.end(), [](const BoxCopy* a, const BoxCopy* b) {
      return a->box.rank() > 0 && a->box.begin(0) < b->box.begin(0);
    });
  }

  bool empty() const { return sorted_.empty(); }
  int64_t bytes() const { return bytes_; }
  const Box& cover() const { return cover_; }

  // The parts of all copies that lie in `block`.
  void Make(const Box& block, Copy copy) const {
    auto next = sorted_.begin();
    if (block.rank() > 0) {
      next = std::lower_bound(
          next, sorted_.end(), block.begin(0) - longest_ + 1,
          [](const BoxCopy* candidate, int64_t begin) { return candidate->box.begin(0) < begin; });
    }
    for (; next != sorted_.end(); ++next) {
      const BoxCopy& whole = **next;
      if (block.rank() > 0 && whole.box.begin(0) >= block.end(0)) return;
      const Box part = Intersect(whole.box, block);
      if (part.empty()) continue;
      const Box inside = RelativeTo(part, whole.box.origin());
      TESSERA_CHECK(copy(SubView(whole.source, inside), SubView(whole.target, inside)).ok());
    }
  }

 private:
  std::vector<const BoxCopy*> sorted_;
  Box cover_;
  int64_t bytes_ = 0;
  int64_t longest_ = 1;  // box in the first dimension
};

}  // namespace

absl::Status CopyStridedInParallel(const ConstStridedView& source, const StridedView& target,
                                   TargetMemory memory) {
  const bool alike = source.shape == target.shape && source.element_bytes == target.element_bytes;
  const auto elements = NumElements(target.shape);
  if (!alike || !elements.ok() || *elements < 2 * kPieceBytes / target.element_bytes) {
    return CopyStrided(source, target);
  }
  const int64_t per_piece = std::max<int64_t>(1, kPieceBytes / target.element_bytes);
  const PieceGrid pieces(target.shape, target.strides, *elements / per_piece);
  const Copy copy = CopyFor(*elements * target.element_bytes, memory);
  ParallelFor(pieces.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Box piece = pieces[i];
      TESSERA_CHECK(copy(SubView(source, piece), SubView(target, piece)).ok());
    }
  });
  return absl::OkStatus();
}

absl::Status CopyBoxes(std::span<const BoxCopy> copies, TargetMemory memory) {
  TESSERA_RETURN_IF_ERROR(CheckCopies(copies));
  const Copies all(copies);
  if (all.empty()) return absl::OkStatus();
  const Dims& shape = all.cover().shape();
  const PieceGrid blocks(shape, RowMajorStrides(shape, 1), 1 + all.bytes() / kBlockBytes);
  const Copy copy = CopyFor(all.bytes(), memory);
  ParallelFor(blocks.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      all.Make(*Translate(blocks[i], all.cover().origin()), copy);
    }
  });
  return absl::OkStatus();
}

}  // namespace tessera::device
