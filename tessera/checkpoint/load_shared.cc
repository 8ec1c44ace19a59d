#include "tessera/checkpoint/load_shared.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "tessera/checkpoint/load_shards.h"
#include "tessera/checkpoint/load_shared_rounds.h"
#include "tessera/core/buffer.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/store/concurrent.h"

namespace tessera::checkpoint {
namespace {

// Memory of a round, cut into views.
class Staging {
 public:
  void Resize(int64_t bytes) {
    memory_.Resize(static_cast<size_t>(bytes));
    used_ = 0;
  }
  StridedView Cut(const Box& box, int64_t element_bytes, int64_t bytes) {
    std::byte* const data = memory_.span().data() + used_;
    used_ += static_cast<size_t>(bytes);
    return RowMajorView(data, box.shape(), element_bytes);
  }

 private:
  Buffer memory_;
  size_t used_ = 0;
};

std::span<std::byte> BytesOf(const StridedView& view, int64_t bytes) {
  return {view.data, static_cast<size_t>(bytes)};
}

// What this rank reads of one array in a round, to be sent on: memory of its own for each part.
class StagedParts final : public Destination {
 public:
  void Add(const Box& part, StridedView memory) {
    by_origin_.emplace(part.origin(), parts_.size());
    parts_.push_back(part);
    memory_.push_back(std::move(memory));
  }
  std::span<const Box> parts() const { return parts_; }

  std::optional<StridedView> MemoryFor(const Box& box) override {
    const auto whole = by_origin_.find(box.origin());
    if (whole != by_origin_.end()) return MemoryIn(whole->second, box);
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (Contains(parts_[i], box)) return MemoryIn(i, box);
    }
    return std::nullopt;
  }
  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    const auto memory = MemoryFor(box);
    if (!memory.has_value()) return Internal("no part holds ", box.Text());
    return CopyStrided(elements, *memory);
  }

 private:
  StridedView MemoryIn(size_t i, const Box& box) const {
    return SubView(memory_[i], RelativeTo(box, parts_[i].origin()));
  }

  std::vector<Box> parts_;
  std::vector<StridedView> memory_;
  absl::flat_hash_map<Dims, size_t> by_origin_;
};

class SharedLoad {
 public:
  explicit SharedLoad(const LoadJob& job)
      : job_(job), comm_(*job.context.comm), deliveries_(job), open_(job.plan.arrays.size()) {}

  absl::StatusOr<std::vector<array::Value>> Run(LoadReport& report) {
    TESSERA_RETURN_IF_ERROR(AgreeOnPlan());
    TESSERA_ASSIGN_OR_RETURN(const int64_t budget,
                             comm_.AllReduce(job_.context.io.budget().limit(), comm::ReduceOp::kMin,
                                             job_.options.limit));
    // Half for what is exchanged, half for what reads it; nothing waits for memory while it holds
    // some.
    auto all = job_.context.io.budget().Acquire(budget, job_.stop);
    IoContext io({.in_flight = job_.context.io.pool().size(), .budget_bytes = budget / 2});
    io_ = &io;
    status_ = all.status();
    const SharedLimits limits{comm_.size(), std::max<int64_t>(1, budget / 2)};
    for (const Batch& batch : BatchesOf(job_.plan.arrays.size(), job_.options.chunk_size)) {
      TESSERA_RETURN_IF_ERROR(ForEachRound(
          job_.plan, batch.begin, batch.end,
          [&](size_t i) -> const Dims& { return job_.ArrayOf(i).chunk_shape(); }, limits,
          [&](const SharedRound& round) { return RunRound(round); }));
    }
    TESSERA_RETURN_IF_ERROR(comm_.Agree(status_, job_.options.limit));
    auto values = std::move(deliveries_).Take(report);
    report.received_bytes = received_;
    return values;
  }

 private:
  // An array that has begun to arrive.
  struct OpenArray {
    std::unique_ptr<ShardTargets> targets;
    std::optional<ArrayReader> reader;
    ArrayReport report;
  };

  absl::Status AgreeOnPlan() {
    std::string text;
    for (const ArrayPlan& array : job_.plan.arrays) {
      text += Concat(array.name, " ", DTypeName(array.stored.dtype), ShapeText(array.stored.shape),
                     " ", DTypeName(array.dtype), " ");
      if (array.placement.by != PlacedBy::kDevice) {
        text += mesh::ShardingText(array.placement.sharding);
      }
      text += '\n';
    }
    const auto hash = static_cast<int64_t>(HashOf(text).low >> 1);
    TESSERA_ASSIGN_OR_RETURN(const int64_t least,
                             comm_.AllReduce(hash, comm::ReduceOp::kMin, job_.options.limit));
    TESSERA_ASSIGN_OR_RETURN(const int64_t most,
                             comm_.AllReduce(hash, comm::ReduceOp::kMax, job_.options.limit));
    if (least == most) return absl::OkStatus();
    return InvalidArgument("the ranks load other arrays, or onto other shardings");
  }

  // From the first error on a rank does nothing but agree.
  absl::Status RunRound(const SharedRound& round) {
    if (status_.ok()) status_ = ReadRound(round);
    TESSERA_RETURN_IF_ERROR(comm_.Agree(status_, job_.options.limit));
    TESSERA_RETURN_IF_ERROR(comm_.Exchange(sends_, receives_, job_.options.limit));
    status_ = PutRound(round);
    return absl::OkStatus();
  }

  absl::StatusOr<OpenArray*> Open(size_t i) {
    OpenArray& open = open_[i];
    if (open.targets != nullptr) return &open;
    const ArrayPlan& plan = job_.plan.arrays[i];
    TESSERA_ASSIGN_OR_RETURN(open.targets,
                             ShardTargets::Make(plan.stored, plan.dtype, plan.placement.sharding,
                                                job_.context.platform, job_.options.replicas));
    TESSERA_ASSIGN_OR_RETURN(
        open.reader, ArrayReader::Make(job_.checkpoint, job_.ArrayOf(i), job_.options.read));
    open.report = {plan.name, {}, open.targets->bytes()};
    return &open;
  }

  // A box of an array in this round that arrives here, and the memory that it arrives in.
  struct Arrival {
    size_t array;
    Box box;
    StridedView memory;
  };

  int64_t ElementBytes(const SharedItem& item) const {
    return DTypeBytes(job_.plan.arrays[item.array].stored.dtype);
  }
  int64_t BytesOfBox(const SharedItem& item, const Box& box) const {
    return *NumElements(box.shape()) * ElementBytes(item);
  }

  int64_t StagingBytes(const SharedRound& round) const {
    int64_t bytes = 0;
    for (const SharedItem& item : round.items) {
      if (!item.reader.has_value()) continue;
      const bool mine = *item.reader == comm_.rank();
      if (mine) bytes += item.bytes;
      for (const SharedNeed& need : item.needs) {
        const bool sent = mine && need.process != comm_.rank() && need.box != item.hull;
        const bool received = !mine && need.process == comm_.rank();
        if (sent || received) bytes += BytesOfBox(item, need.box);
      }
    }
    return bytes;
  }

  // Reads this rank's items, and says what goes where.
  absl::Status ReadRound(const SharedRound& round) {
    staging_.Resize(StagingBytes(round));
    sends_.clear();
    receives_.clear();
    arrivals_.clear();
    std::map<size_t, StagedParts> to_read;
    std::map<size_t, std::vector<Box>> alone;
    std::vector<const SharedItem*> mine;
    std::vector<StridedView> views;
    for (const size_t i : round.finished) TESSERA_RETURN_IF_ERROR(Open(i));
    for (const SharedItem& item : round.items) {
      TESSERA_RETURN_IF_ERROR(Open(item.array));
      if (item.reader == comm_.rank()) {
        StridedView view = staging_.Cut(item.hull, ElementBytes(item), item.bytes);
        to_read[item.array].Add(item.hull, view);
        mine.push_back(&item);
        views.push_back(std::move(view));
        continue;
      }
      for (const SharedNeed& need : item.needs) {
        if (need.process != comm_.rank()) continue;
        if (!item.reader.has_value()) {
          alone[item.array].push_back(need.box);
        } else {
          Receive(item, need);
        }
      }
    }
    TESSERA_RETURN_IF_ERROR(ReadStaged(to_read));
    TESSERA_RETURN_IF_ERROR(ReadAlone(alone));
    for (size_t i = 0; i < mine.size(); ++i) TESSERA_RETURN_IF_ERROR(SendItem(*mine[i], views[i]));
    return absl::OkStatus();
  }

  void Receive(const SharedItem& item, const SharedNeed& need) {
    const int64_t bytes = BytesOfBox(item, need.box);
    StridedView view = staging_.Cut(need.box, ElementBytes(item), bytes);
    receives_.push_back({*item.reader, BytesOf(view, bytes)});
    received_ += bytes;
    arrivals_.push_back({item.array, need.box, std::move(view)});
  }

  absl::Status SendItem(const SharedItem& item, const StridedView& hull) {
    for (const SharedNeed& need : item.needs) {
      if (need.process == comm_.rank()) {
        arrivals_.push_back(
            {item.array, need.box, SubView(hull, RelativeTo(need.box, item.hull.origin()))});
        continue;
      }
      const int64_t bytes = BytesOfBox(item, need.box);
      StridedView packed = hull;
      if (need.box != item.hull) {
        packed = staging_.Cut(need.box, ElementBytes(item), bytes);
        const StridedView part = SubView(hull, RelativeTo(need.box, item.hull.origin()));
        TESSERA_RETURN_IF_ERROR(CopyStrided(AsConst(part), packed));
      }
      sends_.push_back({need.process, BytesOf(packed, bytes)});
    }
    return absl::OkStatus();
  }

  absl::Status ReadStaged(std::map<size_t, StagedParts>& to_read) {
    std::vector<std::pair<size_t, StagedParts*>> work;
    for (auto& [array, parts] : to_read) work.push_back({array, &parts});
    return ForEachArray(work.size(), [&](size_t i, const std::stop_token& stop) {
      OpenArray& open = open_[work[i].first];
      const auto counts = open.reader->Read(work[i].second->parts(), *work[i].second, *io_, stop);
      return Counted(open, counts);
    });
  }

  // What is too large to be held is read by everyone, straight to the shards.
  absl::Status ReadAlone(const std::map<size_t, std::vector<Box>>& alone) {
    std::vector<std::pair<size_t, const std::vector<Box>*>> work;
    for (const auto& [array, parts] : alone) work.push_back({array, &parts});
    return ForEachArray(work.size(), [&](size_t i, const std::stop_token& stop) {
      OpenArray& open = open_[work[i].first];
      const auto counts = open.reader->Read(*work[i].second, *open.targets, *io_, stop);
      return Counted(open, counts);
    });
  }

  static absl::Status Counted(OpenArray& open, const absl::StatusOr<ReadCounts>& counts) {
    if (!counts.ok()) return Prefixed(counts.status(), open.report.name);
    open.report.counts.Add(*counts);
    return absl::OkStatus();
  }

  absl::Status ForEachArray(size_t count,
                            absl::FunctionRef<absl::Status(size_t, const std::stop_token&)> body) {
    return store::ForEachIndex(io_->pool(), io_->pool().size(), count, "loading the checkpoint",
                               job_.stop, body);
  }

  absl::Status PutRound(const SharedRound& round) {
    TESSERA_RETURN_IF_ERROR(ForEachArray(arrivals_.size(), [&](size_t i, const std::stop_token&) {
      const Arrival& arrival = arrivals_[i];
      return open_[arrival.array].targets->Put(arrival.box, AsConst(arrival.memory));
    }));
    for (const size_t i : round.finished) {
      OpenArray open = std::move(open_[i]);
      TESSERA_ASSIGN_OR_RETURN(array::ShardedArray array, open.targets->Finish());
      TESSERA_RETURN_IF_ERROR(deliveries_.Deliver(i, std::move(array), std::move(open.report)));
    }
    return absl::OkStatus();
  }

  const LoadJob& job_;
  comm::Comm& comm_;
  IoContext* io_ = nullptr;
  Deliveries deliveries_;
  std::vector<OpenArray> open_;  // by place in the plan
  absl::Status status_;          // of this rank
  Staging staging_;
  std::vector<comm::Send> sends_;
  std::vector<comm::Receive> receives_;
  std::vector<Arrival> arrivals_;
  int64_t received_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<array::Value>> RunSharedLoad(const LoadJob& job, LoadReport& report) {
  return SharedLoad(job).Run(report);
}

}  // namespace tessera::checkpoint
