#include "tessera/inspect/statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/core/buffer.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/inspect/code_counts.h"
#include "tessera/inspect/dense_runs.h"
#include "tessera/inspect/look_policy.h"
#include "tessera/inspect/moments.h"
#include "tessera/inspect/read_batches.h"
#include "tessera/inspect/spares.h"
#include "tessera/safetensors/runs.h"

namespace tessera::inspect {
namespace {

using checkpoint::ArrayReader;
using checkpoint::CheckpointArray;

// Elements of a kept array that are counted as one.
constexpr int64_t kKeptPiece = int64_t{1} << 18;

size_t BytesOfView(const ConstStridedView& view) {
  return static_cast<size_t>(*Box::Whole(view.shape).num_elements() * view.element_bytes);
}

// Takes elements wherever they come from; there is no memory for whole parts.
class Taker : public Destination {
 public:
  std::optional<StridedView> MemoryFor(const Box&) final { return std::nullopt; }
  virtual void EndBatch() {}
};

class CodeTaker final : public Taker {
 public:
  explicit CodeTaker(DType dtype)
      : workers_([dtype] { return std::make_unique<Worker>(dtype); }), total_(dtype) {}

  absl::Status Put(const Box&, const ConstStridedView& elements) override {
    Spares<Worker>::Loan worker(workers_);
    ForEachDenseRun(elements, worker->scratch,
                    [&](std::span<const std::byte> run) { worker->counts.Add(run); });
    return absl::OkStatus();
  }

  const CodeCounts& Total() {
    for (const auto& worker : workers_.TakeAll()) total_.Add(worker->counts);
    return total_;
  }

 private:
  struct Worker {
    explicit Worker(DType dtype) : counts(dtype) {}
    CodeCounts counts;
    Buffer scratch;
  };
  Spares<Worker> workers_;
  CodeCounts total_;
};

// What a batch consists of is merged in the order of the elements, whoever was done first.
class SummaryTaker final : public Taker {
 public:
  // `kept`: where the elements are kept; without data, they are not.
  SummaryTaker(const ShapeDtype& about, StridedView kept)
      : about_(about),
        kept_(std::move(kept)),
        kernel_(FindSummaryKernel(about.dtype, BestIsa())),
        scratch_([] { return std::make_unique<Buffer>(); }) {}

  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    Summary summary;
    {
      Spares<Buffer>::Loan scratch(scratch_);
      ForEachDenseRun(elements, *scratch, [&](std::span<const std::byte> run) {
        kernel_(run.data(), run.size() / static_cast<size_t>(elements.element_bytes), summary);
      });
    }
    const uint64_t place = safetensors::ElementNumber(box.origin(), about_.shape);
    {
      MutexLock lock(mutex_);
      batch_.emplace_back(place, summary);
    }
    if (kept_.data == nullptr) return absl::OkStatus();
    return CopyStrided(elements, SubView(kept_, box));
  }

  void EndBatch() override {
    MutexLock lock(mutex_);
    std::sort(batch_.begin(), batch_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [place, summary] : batch_) total_.Merge(summary);
    batch_.clear();
  }

  Summary Total() const {
    MutexLock lock(mutex_);
    return total_;
  }

 private:
  const ShapeDtype about_;
  const StridedView kept_;
  const SummaryKernel kernel_;
  Spares<Buffer> scratch_;
  mutable Mutex mutex_;
  std::vector<std::pair<uint64_t, Summary>> batch_ ABSL_GUARDED_BY(mutex_);
  Summary total_ ABSL_GUARDED_BY(mutex_);
};

class HistogramTaker final : public Taker {
 public:
  HistogramTaker(DType dtype, const BinScale& scale)
      : dtype_(dtype),
        scale_(scale),
        workers_([&scale] { return std::make_unique<Worker>(scale); }) {}

  absl::Status Put(const Box&, const ConstStridedView& elements) override {
    Spares<Worker>::Loan worker(workers_);
    ForEachDenseRun(elements, worker->scratch, [&](std::span<const std::byte> run) {
      worker->counts.Add(dtype_, run.data(),
                         run.size() / static_cast<size_t>(elements.element_bytes), BestIsa());
    });
    return absl::OkStatus();
  }

  Histogram Total() {
    Histogram histogram{scale_.Edges(), std::vector<int64_t>(static_cast<size_t>(scale_.bins()))};
    for (const auto& worker : workers_.TakeAll()) worker->counts.AddTo(histogram.counts);
    return histogram;
  }

 private:
  struct Worker {
    explicit Worker(const BinScale& scale) : counts(scale) {}
    BinCounts counts;
    Buffer scratch;
  };
  const DType dtype_;
  const BinScale& scale_;
  Spares<Worker> workers_;
};

// One of the above, with somebody told how far it is.
class Told final : public Destination {
 public:
  Told(Taker& taker, const std::function<void(int64_t)>& on_bytes, int64_t times)
      : taker_(taker), on_bytes_(on_bytes), times_(times) {}

  std::optional<StridedView> MemoryFor(const Box& box) override { return taker_.MemoryFor(box); }
  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    TESSERA_RETURN_IF_ERROR(taker_.Put(box, elements));
    if (on_bytes_ != nullptr) on_bytes_(static_cast<int64_t>(BytesOfView(elements)) / times_);
    return absl::OkStatus();
  }

 private:
  Taker& taker_;
  const std::function<void(int64_t)>& on_bytes_;
  const int64_t times_;
};

void Describe(const Summary& summary, ArrayStatistics& statistics) {
  statistics.finite = summary.moments.count;
  statistics.zeros = summary.zeros;
  statistics.nan = summary.nan;
  statistics.positive_infinities = summary.positive_infinities;
  statistics.negative_infinities = summary.negative_infinities;
  if (statistics.finite == 0) return;
  statistics.min = summary.min;
  statistics.max = summary.max;
  statistics.mean = summary.moments.mean;
  statistics.deviation =
      std::sqrt(summary.moments.squares / static_cast<double>(summary.moments.count));
}

class StatisticsRun {
 public:
  StatisticsRun(const ArrayReader& reader, const CheckpointArray& array,
                const StatisticsOptions& options, IoContext& io, std::stop_token stop)
      : reader_(reader),
        array_(array),
        about_(array.shape_dtype()),
        options_(options),
        io_(io),
        stop_(std::move(stop)) {}

  absl::StatusOr<ArrayStatistics> Run() {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about_.dtype, about_.shape));
    statistics_.count = bytes / DTypeBytes(about_.dtype);
    if (bytes == 0) return statistics_;
    TESSERA_RETURN_IF_ERROR(DTypeBytes(about_.dtype) <= 2 ? CountCodes() : Sum(bytes));
    return std::move(statistics_);
  }

 private:
  // `times`: how often the array is read in all.
  absl::Status Read(Taker& taker, int64_t times) {
    Told told(taker, options_.on_bytes, times);
    return ReadInBatches(reader_, array_, Box::Whole(about_.shape), told,
                         {.wanted = [](const Box& part) { return std::optional(part); },
                          .after_batch = [&] { taker.EndBatch(); }},
                         io_, stop_);
  }

  BinScale Scale() const {
    return BinScale(AsDouble(*statistics_.min), AsDouble(*statistics_.max), options_.bins);
  }

  absl::Status CountCodes() {
    CodeTaker taker(about_.dtype);
    TESSERA_RETURN_IF_ERROR(Read(taker, 1));
    const CodeCounts& counts = taker.Total();
    Describe(counts.Summarise(), statistics_);
    if (statistics_.finite > 0) statistics_.histogram = counts.HistogramOf(Scale());
    return absl::OkStatus();
  }

  absl::Status Sum(int64_t bytes) {
    // Without waiting: who waits while it holds a part of the budget may wait for itself.
    std::optional<ByteBudget::Reservation> memory;
    if (bytes <= io_.budget().limit() / 4) memory = io_.budget().TryAcquire(bytes);
    const std::shared_ptr<std::byte> kept =
        memory.has_value() ? AllocateHostMemory(bytes) : nullptr;
    SummaryTaker taker(about_, RowMajorView(kept.get(), about_.shape, DTypeBytes(about_.dtype)));
    TESSERA_RETURN_IF_ERROR(Read(taker, kept == nullptr ? 2 : 1));
    Describe(taker.Total(), statistics_);
    if (statistics_.finite == 0) return absl::OkStatus();
    const BinScale scale = Scale();
    if (scale.bins() == 1) {
      statistics_.histogram = {scale.Edges(), {statistics_.finite}};
      if (kept == nullptr && options_.on_bytes != nullptr) options_.on_bytes(bytes / 2);
      return absl::OkStatus();
    }
    HistogramTaker bins(about_.dtype, scale);
    TESSERA_RETURN_IF_ERROR(kept == nullptr ? Read(bins, 2) : CountKept(kept.get(), bins));
    statistics_.histogram = bins.Total();
    return absl::OkStatus();
  }

  absl::Status CountKept(const std::byte* kept, HistogramTaker& bins) const {
    const int64_t element_bytes = DTypeBytes(about_.dtype);
    ParallelFor(statistics_.count, kKeptPiece, [&](int64_t begin, int64_t end) {
      const Dims shape = {end - begin};
      TESSERA_CHECK(bins.Put(Box::Whole(shape),
                             RowMajorView(kept + begin * element_bytes, shape, element_bytes))
                        .ok());
    });
    return absl::OkStatus();
  }

  const ArrayReader& reader_;
  const CheckpointArray& array_;
  const ShapeDtype about_;
  const StatisticsOptions& options_;
  IoContext& io_;
  const std::stop_token stop_;
  ArrayStatistics statistics_;
};

}  // namespace

absl::StatusOr<ArrayStatistics> ComputeStatistics(const checkpoint::Checkpoint& checkpoint,
                                                  const CheckpointArray& array,
                                                  const StatisticsOptions& options, IoContext& io,
                                                  std::stop_token stop) {
  if (options.bins < 1 || options.bins > kMostBins) {
    return InvalidArgument("a histogram of ", options.bins, " bins, expected 1 to ", kMostBins);
  }
  TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader,
                           ArrayReader::Make(checkpoint, array, kLookPolicy));
  return StatisticsRun(reader, array, options, io, std::move(stop)).Run();
}

}  // namespace tessera::inspect
