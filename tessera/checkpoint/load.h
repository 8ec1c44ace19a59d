// Loads a checkpoint onto devices.
//
// Every chunk is read and decoded once per process, and goes straight to the shards that need it.
// Memory beside the result stays within the budget of the IoContext, whatever the largest array.
#ifndef TESSERA_CHECKPOINT_LOAD_H_
#define TESSERA_CHECKPOINT_LOAD_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/load_report.h"
#include "tessera/checkpoint/load_shards.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/plan_load.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"

namespace tessera::checkpoint {

// What becomes of an array that has arrived: what this returns is at its place in the tree.
using LoadCallback =
    std::function<absl::StatusOr<array::Value>(array::ShardedArray array, std::string_view name)>;

struct LoadOptions {
  ReadPolicy read = {};
  // Called once per array, in the order of the checkpoint and one at a time, by any thread, while
  // later arrays are read.  Its errors are passed on behind the array's name.
  LoadCallback callback = nullptr;
  // Arrays at once: so many are read and called back with before the next ones are begun.  0: all.
  int64_t chunk_size = 0;
  // With several ranks: every chunk is read by one of them and sent to the others that need it.
  // Collective; all ranks give the same request.
  bool share_reads = false;
  comm::Limit limit = {};  // of each call among the ranks
  // Replicas in host memory are one memory, for who hands the arrays on and writes to none of them.
  Replicas replicas = Replicas::kCopy;
  bool report_arrays = false;
};

// What a program lends.  Process numbers of meshes are platform.process(), and ranks of `comm`.
struct LoadContext {
  IoContext& io;
  device::Platform& platform;
  comm::Comm* comm = nullptr;  // for share_reads
};

struct LoadResult {
  array::ValueTree tree;
  LoadReport report;
};

// The tree has the structure of the target; else that of the tree that was saved, where it is known
// and all of it is loaded; else it is made of nested dicts by the keys.
//
// Errors of PlanLoad, before anything is read.  DataLoss, naming array and chunk, for data that is
// damaged or gone; Aborted when that is because another save has replaced it meanwhile;
// ResourceExhausted when a device or the budget is too small.
absl::StatusOr<LoadResult> LoadCheckpoint(const Checkpoint& checkpoint, const LoadRequest& request,
                                          const LoadContext& context,
                                          const LoadOptions& options = {},
                                          std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_H_
