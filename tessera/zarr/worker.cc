#include "tessera/zarr/worker.h"

#include <utility>

#include "tessera/core/worker_loop.h"

namespace tessera::zarr {

absl::Status ForEachCell(IoContext& io, int64_t count, int64_t bytes_per_worker, Worker& first,
                         std::stop_token stop, CellWork work) {
  return ForEachWithWorker<Worker>(io, count, bytes_per_worker, first, std::move(stop), work);
}

absl::Status ForEachCell(IoContext& io, std::string_view name, int64_t count,
                         int64_t bytes_per_worker, std::stop_token stop, CellWork work) {
  return ForEachWithWorkers<Worker>(io, name, count, bytes_per_worker, std::move(stop), work);
}

}  // namespace tessera::zarr
