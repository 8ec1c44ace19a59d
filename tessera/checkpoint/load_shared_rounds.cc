#include "tessera/checkpoint/load_shared_rounds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/checkpoint/plan_load_parts.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

std::optional<Box> HullIn(const Box& chunk, const std::vector<Box>& boxes) {
  std::optional<Box> hull;
  for (const Box& box : boxes) {
    const Box common = Intersect(chunk, box);
    if (common.empty()) continue;
    hull = hull.has_value() ? Cover(*hull, common) : common;
  }
  return hull;
}

absl::StatusOr<int64_t> BytesOf(const Box& box, DType dtype) {
  return NumBytes(dtype, box.shape());
}

// Fills rounds up and hands them on.
class RoundMaker {
 public:
  RoundMaker(const LoadPlan& plan, const SharedLimits& limits,
             absl::FunctionRef<absl::Status(const SharedRound&)> body)
      : plan_(plan),
        limits_(limits),
        body_(body),
        held_(static_cast<size_t>(limits.processes)),
        read_(static_cast<size_t>(limits.processes)) {}

  absl::Status AddArray(size_t i, const Dims& chunk_shape) {
    const ArrayPlan& array = plan_.arrays[i];
    TESSERA_ASSIGN_OR_RETURN(const auto boxes, BoxesByProcess(array, limits_.processes));
    std::vector<Box> all;
    for (const auto& of_process : boxes)
      all.insert(all.end(), of_process.begin(), of_process.end());
    TESSERA_RETURN_IF_ERROR(
        ForEachPart(array.stored.shape, chunk_shape, all,
                    [&](const Box& hull) -> absl::Status { return AddItem(i, hull, boxes); }));
    round_.finished.push_back(i);
    return absl::OkStatus();
  }

  absl::Status Flush() {
    if (round_.items.empty() && round_.finished.empty()) return absl::OkStatus();
    const absl::Status status = body_(round_);
    round_ = {};
    std::fill(held_.begin(), held_.end(), 0);
    return status;
  }

 private:
  absl::Status AddItem(size_t i, const Box& hull, const std::vector<std::vector<Box>>& boxes) {
    const DType dtype = plan_.arrays[i].stored.dtype;
    SharedItem item{.array = i, .hull = hull, .needs = {}};
    TESSERA_ASSIGN_OR_RETURN(item.bytes, BytesOf(hull, dtype));
    for (size_t p = 0; p < boxes.size(); ++p) {
      auto need = HullIn(hull, boxes[p]);
      if (need.has_value()) item.needs.push_back({static_cast<int>(p), *std::move(need)});
    }
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> load, LoadOf(item, dtype));
    if (*std::max_element(load.begin(), load.end()) > limits_.round_bytes) {
      item.reader.reset();
      std::fill(load.begin(), load.end(), 0);
    }
    bool fits = static_cast<int64_t>(round_.items.size()) < limits_.round_items;
    for (size_t p = 0; p < load.size(); ++p) fits &= load[p] <= limits_.round_bytes - held_[p];
    if (!fits) TESSERA_RETURN_IF_ERROR(Flush());
    for (size_t p = 0; p < load.size(); ++p) held_[p] += load[p];
    if (item.reader.has_value()) read_[static_cast<size_t>(*item.reader)] += item.bytes;
    round_.items.push_back(std::move(item));
    return absl::OkStatus();
  }

  // Chooses who reads the item; what each process then holds for it.
  absl::StatusOr<std::vector<int64_t>> LoadOf(SharedItem& item, DType dtype) const {
    item.reader = item.needs.front().process;
    for (const SharedNeed& need : item.needs) {
      if (read_[need.process] < read_[*item.reader]) item.reader = need.process;
    }
    std::vector<int64_t> load(held_.size(), 0);
    load[*item.reader] = item.bytes;
    for (const SharedNeed& need : item.needs) {
      if (need.process == *item.reader) continue;
      TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(need.box, dtype));
      load[need.process] += bytes;
      if (need.box != item.hull) load[*item.reader] += bytes;
    }
    return load;
  }

  const LoadPlan& plan_;
  const SharedLimits& limits_;
  absl::FunctionRef<absl::Status(const SharedRound&)> body_;
  SharedRound round_;
  std::vector<int64_t> held_;  // in this round, by process
  std::vector<int64_t> read_;  // so far
};

}  // namespace

absl::StatusOr<std::vector<std::vector<Box>>> BoxesByProcess(const ArrayPlan& array,
                                                             int processes) {
  std::vector<std::vector<Box>> boxes(static_cast<size_t>(processes));
  if (array.placement.by == PlacedBy::kDevice) {
    const Box whole = Box::Whole(array.stored.shape);
    if (!whole.empty()) std::fill(boxes.begin(), boxes.end(), std::vector<Box>{whole});
    return boxes;
  }
  TESSERA_ASSIGN_OR_RETURN(const auto shards,
                           mesh::PlaceShards(array.placement.sharding, array.stored.shape));
  for (const mesh::DeviceShard& shard : shards) {
    if (shard.device.process < 0 || shard.device.process >= processes) {
      return InvalidArgument(array.name, ": device ", shard.device.id, " is of process ",
                             shard.device.process, ", but there are ", processes, " ranks");
    }
    std::vector<Box>& mine = boxes[static_cast<size_t>(shard.device.process)];
    if (shard.box.empty() || std::find(mine.begin(), mine.end(), shard.box) != mine.end()) continue;
    mine.push_back(shard.box);
  }
  return boxes;
}

absl::Status ForEachRound(const LoadPlan& plan, size_t begin, size_t end,
                          absl::FunctionRef<const Dims&(size_t array)> chunk_shape,
                          const SharedLimits& limits,
                          absl::FunctionRef<absl::Status(const SharedRound&)> body) {
  RoundMaker maker(plan, limits, body);
  for (size_t i = begin; i < end; ++i) TESSERA_RETURN_IF_ERROR(maker.AddArray(i, chunk_shape(i)));
  return maker.Flush();
}

}  // namespace tessera::checkpoint
