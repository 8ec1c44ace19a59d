#include "tessera/core/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tessera/core/status.h"

namespace tessera {
namespace {

// One dimension of a copy: how often, and how far apart on each side.
struct Loop {
  int64_t count;
  int64_t source_stride;
  int64_t target_stride;
};

// A copy in its simplest form: nested loops, outermost first, around runs of `run_bytes`.
struct CopyPlan {
  absl::InlinedVector<Loop, 6> loops;
  int64_t run_bytes;
};

CopyPlan PlanCopy(const ConstStridedView& source, const StridedView& target) {
  CopyPlan plan{{}, source.element_bytes};
  for (size_t i = 0; i < source.shape.size(); ++i) {
    if (source.shape[i] == 1) continue;
    plan.loops.push_back({source.shape[i], source.strides[i], target.strides[i]});
  }
  // Writing in address order is what memory likes best, so the target's strides decide.
  std::stable_sort(plan.loops.begin(), plan.loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.target_stride) > std::abs(b.target_stride);
  });
  absl::InlinedVector<Loop, 6> merged;
  for (const Loop& loop : plan.loops) {
    if (!merged.empty() && merged.back().source_stride == loop.source_stride * loop.count &&
        merged.back().target_stride == loop.target_stride * loop.count) {
      merged.back() = {merged.back().count * loop.count, loop.source_stride, loop.target_stride};
    } else {
      merged.push_back(loop);
    }
  }
  if (!merged.empty() && merged.back().source_stride == plan.run_bytes &&
      merged.back().target_stride == plan.run_bytes) {
    plan.run_bytes *= merged.back().count;
    merged.pop_back();
  }
  plan.loops = std::move(merged);
  return plan;
}

// A run whose size the compiler knows is a few moves instead of a call.
template <size_t kBytes>
struct FixedRun {
  void operator()(const std::byte* source, std::byte* target) const {
    std::memcpy(target, source, kBytes);
  }
};

struct AnyRun {
  size_t bytes;
  void operator()(const std::byte* source, std::byte* target) const {
    std::memcpy(target, source, bytes);
  }
};

template <typename Run>
void CopyLine(Run run, const Loop& loop, const std::byte* source, std::byte* target) {
  for (int64_t i = 0; i < loop.count; ++i) {
    run(source, target);
    source += loop.source_stride;
    target += loop.target_stride;
  }
}

// Two loops that want opposite orders (a transposition): in tiles small enough that the lines
// touched on both sides stay in the first-level cache.
template <typename Run>
void CopyTiled(Run run, const Loop& outer, const Loop& inner, const std::byte* source,
               std::byte* target) {
  constexpr int64_t kTile = 32;
  for (int64_t i0 = 0; i0 < outer.count; i0 += kTile) {
    const int64_t i_end = std::min(outer.count, i0 + kTile);
    for (int64_t j0 = 0; j0 < inner.count; j0 += kTile) {
      const Loop part{std::min(kTile, inner.count - j0), inner.source_stride, inner.target_stride};
      for (int64_t i = i0; i < i_end; ++i) {
        CopyLine(run, part, source + i * outer.source_stride + j0 * inner.source_stride,
                 target + i * outer.target_stride + j0 * inner.target_stride);
      }
    }
  }
}

// Moves the loop along which the source is densest next to the innermost one.  True when the two
// then pull in different directions, so that tiles pay.
bool ArrangeForTiles(absl::InlinedVector<Loop, 6>& loops, int64_t run_bytes) {
  constexpr int64_t kCacheLine = 64;
  if (loops.size() < 2 || run_bytes >= kCacheLine) return false;
  const auto densest =
      std::min_element(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
        return std::abs(a.source_stride) < std::abs(b.source_stride);
      });
  if (densest == loops.end() - 1) return false;
  std::rotate(densest, densest + 1, loops.end() - 1);
  return true;
}

template <typename Run>
void CopyLoops(Run run, CopyPlan plan, const std::byte* source, std::byte* target) {
  const bool tiled = ArrangeForTiles(plan.loops, plan.run_bytes);
  const size_t inner_loops = tiled ? 2 : 1;
  const size_t outer_loops = plan.loops.size() - inner_loops;
  Dims index(outer_loops, 0);
  while (true) {
    if (tiled) {
      CopyTiled(run, plan.loops[outer_loops], plan.loops[outer_loops + 1], source, target);
    } else {
      CopyLine(run, plan.loops[outer_loops], source, target);
    }
    size_t d = outer_loops;
    for (; d > 0; --d) {
      const Loop& loop = plan.loops[d - 1];
      source += loop.source_stride;
      target += loop.target_stride;
      if (++index[d - 1] < loop.count) break;
      source -= loop.source_stride * loop.count;
      target -= loop.target_stride * loop.count;
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

void Execute(CopyPlan plan, const std::byte* source, std::byte* target) {
  if (plan.loops.empty()) {
    std::memcpy(target, source, static_cast<size_t>(plan.run_bytes));
    return;
  }
  switch (plan.run_bytes) {
    case 1:
      return CopyLoops(FixedRun<1>{}, std::move(plan), source, target);
    case 2:
      return CopyLoops(FixedRun<2>{}, std::move(plan), source, target);
    case 4:
      return CopyLoops(FixedRun<4>{}, std::move(plan), source, target);
    case 8:
      return CopyLoops(FixedRun<8>{}, std::move(plan), source, target);
    case 16:
      return CopyLoops(FixedRun<16>{}, std::move(plan), source, target);
    case 32:
      return CopyLoops(FixedRun<32>{}, std::move(plan), source, target);
    case 64:
      return CopyLoops(FixedRun<64>{}, std::move(plan), source, target);
    default:
      return CopyLoops(AnyRun{static_cast<size_t>(plan.run_bytes)}, std::move(plan), source,
                       target);
  }
}

}  // namespace

bool IsDense(const ConstStridedView& view) {
  int64_t next = view.element_bytes;
  for (size_t d = view.shape.size(); d-- > 0;) {
    // A dimension of one element takes no step.
    if (view.shape[d] != 1 && view.strides[d] != next) return false;
    next *= view.shape[d];
  }
  return true;
}

absl::Status CopyStrided(const ConstStridedView& source, const StridedView& target) {
  if (source.shape != target.shape) {
    return InvalidArgument("copy from shape ", ShapeText(source.shape), " to shape ",
                           ShapeText(target.shape), ": the shapes differ");
  }
  if (source.element_bytes != target.element_bytes) {
    return InvalidArgument("copy from elements of ", source.element_bytes, " bytes to elements of ",
                           target.element_bytes, ": the sizes differ");
  }
  if (Box::Whole(source.shape).empty()) return absl::OkStatus();
  Execute(PlanCopy(source, target), source.data, target.data);
  return absl::OkStatus();
}

}  // namespace tessera
