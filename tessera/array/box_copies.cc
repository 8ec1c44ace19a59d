#include "tessera/array/box_copies.h"

#include <algorithm>
#include <utility>

#include "tessera/array/reshard_rounds.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// Long enough that starting a task costs nothing beside it, short enough that cores end together.
constexpr int64_t kTaskBytes = int64_t{2} << 20;

struct HostCopy {
  ConstStridedView source;
  StridedView target;
};

int64_t BytesOf(const StridedView& view) {
  return NumElements(view.shape).value_or(0) * view.element_bytes;
}

absl::Status CheckAlike(const BoxCopy& copy) {
  const ConstStridedView& source = copy.source.view;
  const StridedView& target = copy.target.view;
  if (source.shape == target.shape && source.element_bytes == target.element_bytes) {
    return absl::OkStatus();
  }
  return Internal("a copy from ", ShapeText(source.shape), " to ", ShapeText(target.shape),
                  ", elements of ", source.element_bytes, " and ", target.element_bytes, " bytes");
}

// Adds the copy to `out` in pieces of at most kTaskBytes.
void AddPieces(BoxCopy copy, std::vector<HostCopy>& out) {
  const int64_t bytes = BytesOf(copy.target.view);
  if (bytes == 0) return;
  if (bytes <= kTaskBytes) {
    out.push_back({std::move(copy.source.view), std::move(copy.target.view)});
    return;
  }
  const Box whole = Box::Whole(copy.target.view.shape);
  for (const Box& piece : CutBox(whole, copy.target.view.element_bytes, kTaskBytes)) {
    out.push_back({SubView(copy.source.view, piece), SubView(copy.target.view, piece)});
  }
}

void CopyOnHost(const std::vector<HostCopy>& copies) {
  int64_t bytes = 0;
  for (const HostCopy& copy : copies) bytes += BytesOf(copy.target);
  const auto count = static_cast<int64_t>(copies.size());
  const int64_t tasks = std::max<int64_t>(1, bytes / kTaskBytes);
  ParallelFor(count, std::max<int64_t>(1, count / tasks), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const HostCopy& copy = copies[static_cast<size_t>(i)];
      TESSERA_CHECK(CopyStrided(copy.source, copy.target).ok());
    }
  });
}

device::Event StartOnDevice(const BoxCopy& copy) {
  if (copy.target.device == nullptr) {
    return copy.source.device->copies().CopyToHost(copy.source.view, copy.target.view);
  }
  device::CopyQueue& queue = copy.target.device->copies();
  if (copy.source.device == nullptr) return queue.CopyToDevice(copy.source.view, copy.target.view);
  return queue.CopyBetween(copy.source.view, copy.source.device->id(), copy.target.view);
}

}  // namespace

absl::Status RunCopies(std::vector<BoxCopy> copies) {
  for (const BoxCopy& copy : copies) TESSERA_RETURN_IF_ERROR(CheckAlike(copy));
  std::vector<device::Event> events;
  std::vector<HostCopy> on_host;
  on_host.reserve(copies.size());
  for (BoxCopy& copy : copies) {
    if (copy.source.host_visible && copy.target.host_visible) {
      AddPieces(std::move(copy), on_host);
    } else {
      events.push_back(StartOnDevice(copy));
    }
  }
  CopyOnHost(on_host);
  return device::WaitForAll(events);
}

}  // namespace tessera::array
