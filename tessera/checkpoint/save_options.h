// What a caller may ask of a save.
#ifndef TESSERA_CHECKPOINT_SAVE_OPTIONS_H_
#define TESSERA_CHECKPOINT_SAVE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/codec/auto.h"
#include "tessera/codec/spec.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/dtype.h"
#include "tessera/safetensors/plan_set.h"

namespace tessera::checkpoint {

// The codec is chosen for each dtype, by measuring what it makes of samples of the largest arrays
// against the speed of the storage.
struct AutoCodec {
  // What a page cache takes and gives.  Weights hardly shrink (bfloat16 to 0.78 with zstd), so that
  // plain bytes cost little more where the drive is the limit, and much less time where it is not.
  // Who knows the storage to be slow, or to be paid for, says so here.
  codec::StorageSpeed storage = {4e9, 8e9};
  // Less than this is not measured: it gets what JAX writes.
  int64_t least_bytes = int64_t{16} << 20;
  friend bool operator==(const AutoCodec& a, const AutoCodec& b) {
    return a.storage.write_bytes_per_second == b.storage.write_bytes_per_second &&
           a.storage.read_bytes_per_second == b.storage.read_bytes_per_second &&
           a.least_bytes == b.least_bytes;
  }
};

// The codecs of every array, in the order of encoding; none: plain bytes.
using CodecList = std::vector<codec::BytesSpec>;
using SaveCodec = std::variant<AutoCodec, CodecList>;

// What JAX writes.
inline CodecList JaxCodec() { return {codec::ZstdSpec{.level = 1}}; }

// A folder of zarr v2 arrays and tensorstore_index.json, as JAX and eformer write them.
struct TensorstoreFormat {
  friend bool operator==(const TensorstoreFormat&, const TensorstoreFormat&) = default;
};

// One safetensors file, or shards of at most shard_bytes and their index.  Arrays lie under their
// dotted keys; containers other than dicts become dicts of numbers or fields, and leaves that are
// no arrays are lost.
using SafetensorsFormat = safetensors::SetOptions;

using SaveFormat = std::variant<TensorstoreFormat, SafetensorsFormat>;

// How the tree becomes arrays in a store.
struct PlanOptions {
  SaveFormat format = TensorstoreFormat{};
  // In the index; dots and slashes in it separate folders.  Empty: none, as it must be for
  // safetensors, which tell sets apart by their stem.
  std::string prefix = {};
  // Floating-point arrays are stored as this.
  std::optional<DType> float_dtype = {};
  // The most that a chunk may have in memory; larger shards are cut.  This and the codec mean
  // nothing for safetensors, but codecs that were named are refused.
  int64_t chunk_bytes = int64_t{64} << 20;
  SaveCodec codec = AutoCodec{};
};

// When the caller may change its arrays again.
enum class SnapshotMode {
  kCopy,   // once Start returns: what is written was copied
  kShare,  // never: what is written are the arrays' own buffers
};

// What happens to a save that is asked for while one runs.
enum class IfBusy {
  kWait,
  kRefuse,  // FailedPrecondition.  For one rank: several could not agree on it without waiting.
};

struct SaveOptions {
  PlanOptions plan = {};
  // Without it the arrays are put in place, but no index names them and no manifest guards them.
  bool write_index = true;
  SnapshotMode snapshot = SnapshotMode::kCopy;
  IfBusy if_busy = IfBusy::kWait;
  // Files that appear together with the arrays; rank 0's are taken.  Those of the prefix alone, and
  // those that all prefixes of the checkpoint share, of which the last save's stay.
  std::vector<commit::SideFile> side_files = {};
  std::vector<commit::SideFile> shared_files = {};
  // Called on rank 0 in the background, once everything is committed.  Its error is the save's.
  std::function<absl::Status(const SaveReport&)> commit_callback = nullptr;
  // Told of what this rank has written so far, by one thread at a time, never less than before; at
  // the end of all of it.
  std::function<void(const SaveProgress&)> progress = nullptr;
  // Ends the save with Cancelled; what was there before stays.
  std::stop_token stop = {};
  // How long ranks wait for each other.  Default: GLOBAL_CHECKPOINT_TIMEOUT, in seconds, else 400
  // s.
  std::optional<std::chrono::nanoseconds> timeout = {};
  std::chrono::seconds lease = commit::BeginOptions{}.lease;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_OPTIONS_H_
