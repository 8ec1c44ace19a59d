// The threads that work through the chunks of a box, and the memory each of them may use.
#ifndef TESSERA_ZARR_WORKER_H_
#define TESSERA_ZARR_WORKER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/codec/scratch.h"
#include "tessera/core/buffer.h"
#include "tessera/core/byte_budget.h"
#include "tessera/core/io_context.h"

namespace tessera::zarr {

// What one thread works with, kept from chunk to chunk.  All of it together stays within what was
// reserved for the worker.
struct Worker {
  codec::Scratch scratch = {};
  Buffer stored = {};                       // a chunk as the store has it
  Buffer chunk = {};                        // a chunk as memory has it
  std::unique_ptr<Worker> inner = nullptr;  // for the chunks inside of a shard

  Worker& Inner() {
    if (inner == nullptr) inner = std::make_unique<Worker>();
    return *inner;
  }
};

using CellWork = absl::FunctionRef<absl::Status(int64_t cell, Worker&, std::stop_token)>;

// Calls work(i, ...) once for each i in [0, count), begun in that order, by as many workers at once
// as the pool has threads and the budget has `bytes_per_worker`; by one at least, for which it
// waits.  ResourceExhausted, beginning with `name`, when the whole budget is not enough for one.
absl::Status ForEachCell(IoContext& io, std::string_view name, int64_t count,
                         int64_t bytes_per_worker, std::stop_token stop, CellWork work);

// The same with one worker that the caller has reserved memory for.  Others join in when there is
// more, so a worker may call this for the chunks inside of its own without anyone waiting.
absl::Status ForEachCell(IoContext& io, int64_t count, int64_t bytes_per_worker, Worker& first,
                         std::stop_token stop, CellWork work);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_WORKER_H_
