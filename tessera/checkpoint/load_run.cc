#include "tessera/checkpoint/load_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "tessera/checkpoint/load_shards.h"
#include "tessera/core/status.h"
#include "tessera/device/buffer_blocks.h"
#include "tessera/store/concurrent.h"

namespace tessera::checkpoint {
namespace {

absl::Status LoadArray(const LoadJob& job, size_t i, device::BufferBlocks* blocks,
                       Deliveries& deliveries, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  const ArrayPlan& plan = job.plan.arrays[i];
  TESSERA_ASSIGN_OR_RETURN(const auto targets,
                           ShardTargets::Make(plan.stored, plan.dtype, plan.placement.sharding,
                                              job.context.platform, job.options.replicas, blocks));
  TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader,
                           ArrayReader::Make(job.checkpoint, job.ArrayOf(i), job.options.read));
  ArrayReport report{plan.name, {}, targets->bytes()};
  TESSERA_ASSIGN_OR_RETURN(report.counts,
                           reader.ReadBoxes(targets->boxes(), *targets, job.context.io, stop));
  TESSERA_ASSIGN_OR_RETURN(array::ShardedArray array, targets->Finish());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return deliveries.Deliver(i, std::move(array), std::move(report));
}

// Whether every device here has room for its part of the plan and for as much more.
bool HaveRoom(const LoadJob& job, int64_t more) {
  const device::Platform& platform = job.context.platform;
  return std::all_of(
      job.plan.devices.begin(), job.plan.devices.end(), [&](const DevicePlan& planned) {
        if (planned.device.process != platform.process()) return true;
        const device::Device* device = platform.Find(planned.device.id);
        return device == nullptr || device->limit() - device->in_use() - more >= planned.bytes;
      });
}

// Blocks for the small shards, of which they take a little more memory than one by one; none where
// they are few, or memory is short.
std::unique_ptr<device::BufferBlocks> BlocksFor(const LoadJob& job) {
  constexpr int64_t kMany = 64;
  int64_t small = 0;
  int64_t bytes = 0;
  for (const ArrayPlan& array : job.plan.arrays) {
    const int64_t in_block = device::BufferBlocks::BytesInBlock(array.device_bytes);
    small += in_block > 0 ? 1 : 0;
    bytes += in_block;
  }
  if (small < kMany || !HaveRoom(job, bytes)) return nullptr;
  return std::make_unique<device::BufferBlocks>(bytes);
}

}  // namespace

absl::Status Deliveries::Deliver(size_t i, array::ShardedArray array, ArrayReport report) {
  {
    MutexLock lock(mutex_);
    waiting_[i] = std::move(array);
    ++total_.arrays;
    total_.counts.Add(report.counts);
    total_.result_bytes += report.result_bytes;
    if (job_.options.report_arrays) {
      reports_.resize(waiting_.size());
      reports_[i] = std::move(report);
    }
    // Whoever calls back takes this one as well, once its turn comes.
    if (job_.options.callback == nullptr || calling_) return absl::OkStatus();
    calling_ = true;
  }
  return CallBack();
}

// Ends with calling_ set after an error: nobody calls back any more.
absl::Status Deliveries::CallBack() {
  while (true) {
    std::optional<array::ShardedArray> array;
    size_t i = 0;
    {
      MutexLock lock(mutex_);
      i = next_;
      if (i == waiting_.size() || !waiting_[i].has_value()) {
        calling_ = false;
        return absl::OkStatus();
      }
      array = std::move(std::get<array::ShardedArray>(*waiting_[i]));
      ++next_;
    }
    const std::string& name = job_.plan.arrays[i].name;
    auto value = job_.options.callback(*std::move(array), name);
    if (!value.ok()) return Prefixed(value.status(), Concat("callback of ", name));
    MutexLock lock(mutex_);
    waiting_[i] = *std::move(value);
  }
}

std::vector<array::Value> Deliveries::Take(LoadReport& report) && {
  MutexLock lock(mutex_);
  std::vector<array::Value> values;
  values.reserve(waiting_.size());
  for (auto& value : waiting_) values.push_back(*std::move(value));
  total_.each = std::move(reports_);
  report = std::move(total_);
  return values;
}

std::vector<Batch> BatchesOf(size_t arrays, int64_t chunk_size) {
  const size_t each = chunk_size <= 0 ? arrays : static_cast<size_t>(chunk_size);
  std::vector<Batch> batches;
  for (size_t begin = 0; begin < arrays; begin += each) {
    batches.push_back({begin, begin + std::min(each, arrays - begin)});
  }
  return batches;
}

absl::StatusOr<std::vector<array::Value>> RunLoad(const LoadJob& job, LoadReport& report) {
  Deliveries deliveries(job);
  const auto blocks = BlocksFor(job);
  ThreadPool& pool = job.context.io.pool();
  for (const Batch& batch : BatchesOf(job.plan.arrays.size(), job.options.chunk_size)) {
    TESSERA_RETURN_IF_ERROR(
        store::ForEachIndex(pool, pool.size(), batch.end - batch.begin, "loading the checkpoint",
                            job.stop, [&](size_t i, const std::stop_token& stop) -> absl::Status {
                              const absl::Status loaded =
                                  LoadArray(job, batch.begin + i, blocks.get(), deliveries, stop);
                              if (loaded.ok() || absl::IsCancelled(loaded)) return loaded;
                              return Prefixed(loaded, job.plan.arrays[batch.begin + i].name);
                            }));
  }
  return std::move(deliveries).Take(report);
}

}  // namespace tessera::checkpoint
