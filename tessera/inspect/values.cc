#include "tessera/inspect/values.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/core/destination.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/inspect/look_policy.h"
#include "tessera/inspect/read_batches.h"

namespace tessera::inspect {
namespace {

using checkpoint::ArrayReader;
using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

// Those of the selected indices of a dimension that lie in [begin, end): numbers [first, first +
// count) among the selected ones.
struct Common {
  int64_t first = 0;
  int64_t count = 0;
};

Common CommonOf(const Steps& steps, int64_t begin, int64_t end) {
  const bool up = steps.step > 0;
  const int64_t stride = up ? steps.step : -steps.step;
  // How far the nearest and the farthest index of the interval are from the first that is selected.
  const int64_t near = up ? begin - steps.first : steps.first - (end - 1);
  const int64_t far = up ? (end - 1) - steps.first : steps.first - begin;
  if (far < 0) return {};
  const int64_t first = near <= 0 ? 0 : (near - 1) / stride + 1;
  const int64_t last = std::min(far / stride, steps.count - 1);
  return last < first ? Common{} : Common{first, last - first + 1};
}

// Takes the selected elements out of whatever comes.
class SelectionMemory final : public Destination {
 public:
  SelectionMemory(const Selection& selection, const StridedView& memory)
      : selection_(selection), memory_(memory) {}

  std::optional<Box> Wanted(const Box& part) const {
    Selection wanted = selection_;
    for (int d = 0; d < part.rank(); ++d) {
      const Common common = CommonOf(selection_.dimensions[d], part.begin(d), part.end(d));
      if (common.count == 0) return std::nullopt;
      wanted = wanted.Part(static_cast<size_t>(d), common.first, common.count);
    }
    return wanted.Hull();
  }

  // Memory that lies as the array does takes a part without a copy.
  std::optional<StridedView> MemoryFor(const Box& part) override {
    for (const Steps& steps : selection_.dimensions) {
      if (steps.step != 1) return std::nullopt;
    }
    Dims first;
    for (const Steps& steps : selection_.dimensions) first.push_back(steps.first);
    return SubView(memory_, RelativeTo(part, first));
  }

  absl::Status Put(const Box& part, const ConstStridedView& elements) override {
    ConstStridedView source = elements;
    StridedView target = memory_;
    for (int d = 0; d < part.rank(); ++d) {
      const Steps& steps = selection_.dimensions[d];
      const Common common = CommonOf(steps, part.begin(d), part.end(d));
      if (common.count == 0) return absl::OkStatus();
      source.data += (steps.at(common.first) - part.begin(d)) * source.strides[d];
      source.strides[d] *= steps.step;
      target.data += common.first * target.strides[d];
      source.shape[d] = target.shape[d] = common.count;
    }
    return CopyStrided(source, target);
  }

 private:
  const Selection& selection_;
  const StridedView& memory_;
};

// Calls `body` with the parts of a selection that `held` has, and where in it each of them lies.
absl::Status ForEachEdge(const Selection& selection, size_t dimension, Dims& place,
                         const Dims& held,
                         absl::FunctionRef<absl::Status(const Selection&, const Dims&)> body) {
  if (dimension == held.size()) return body(selection, place);
  const int64_t count = selection.dimensions[dimension].count;
  const auto go = [&](int64_t begin, int64_t length, int64_t at) {
    place[dimension] = at;
    return ForEachEdge(selection.Part(dimension, begin, length), dimension + 1, place, held, body);
  };
  if (held[dimension] == count) return go(0, count, 0);
  TESSERA_RETURN_IF_ERROR(go(0, kEdge, 0));
  return go(count - kEdge, kEdge, kEdge);
}

// Reads the part of `selection` that `held`, of as many dimensions as the array has, consists of.
absl::StatusOr<Values> ReadHeld(const Checkpoint& checkpoint, const CheckpointArray& array,
                                const Selection& selection, const Dims& held, IoContext& io,
                                std::stop_token stop) {
  Values values{.dtype = array.dtype(), .shape = selection.shape()};
  for (size_t d = 0; d < held.size(); ++d) {
    if (!selection.dimensions[d].dropped) values.held.push_back(held[d]);
  }
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(values.dtype, held));
  if (bytes == 0) return values;
  if (bytes > io.budget().limit()) {
    return ResourceExhausted(array.name, ": the values take ", bytes,
                             " bytes, more than the budget of ", io.budget().limit(),
                             "; take a smaller slice");
  }
  const std::shared_ptr<std::byte> memory = AllocateHostMemory(bytes);
  if (memory == nullptr) return ResourceExhausted(array.name, ": no memory for ", bytes, " bytes");
  const StridedView view = RowMajorView(memory.get(), held, DTypeBytes(values.dtype));
  TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader,
                           ArrayReader::Make(checkpoint, array, kLookPolicy));
  Dims place(held.size(), 0);
  TESSERA_RETURN_IF_ERROR(ForEachEdge(
      selection, 0, place, held, [&](const Selection& part, const Dims& at) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const Box box, Box::Make(at, part.counts()));
        return ReadSelection(reader, array, part, SubView(view, box), io, stop);
      }));
  values.elements = memory;
  return values;
}

}  // namespace

std::span<const std::byte> Values::bytes() const {
  return {elements.get(), elements == nullptr ? 0 : static_cast<size_t>(*NumBytes(dtype, held))};
}

absl::Status ReadSelection(const ArrayReader& reader, const CheckpointArray& array,
                           const Selection& selection, const StridedView& target, IoContext& io,
                           std::stop_token stop) {
  if (selection.empty()) return absl::OkStatus();
  SelectionMemory memory(selection, target);
  return ReadInBatches(
      reader, array, selection.Hull(), memory,
      {.wanted = [&](const Box& part) { return memory.Wanted(part); }, .after_batch = [] {}}, io,
      std::move(stop));
}

absl::StatusOr<Values> ReadValues(const Checkpoint& checkpoint, const CheckpointArray& array,
                                  const Selection& selection, IoContext& io, std::stop_token stop) {
  return ReadHeld(checkpoint, array, selection, selection.counts(), io, std::move(stop));
}

absl::StatusOr<Values> ReadEdges(const Checkpoint& checkpoint, const CheckpointArray& array,
                                 const Selection& selection, IoContext& io, std::stop_token stop) {
  Dims held = selection.counts();
  TESSERA_ASSIGN_OR_RETURN(const int64_t elements, NumElements(held));
  if (elements > kMostShown) {
    for (int64_t& count : held) count = std::min(count, 2 * kEdge);
  }
  return ReadHeld(checkpoint, array, selection, held, io, std::move(stop));
}

}  // namespace tessera::inspect
