// tree_serialize_leaves, and saves said in one sentence.
#ifndef TESSERA_CHECKPOINT_SAVE_TREE_H_
#define TESSERA_CHECKPOINT_SAVE_TREE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/shard_and_gather.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/checkpoint/saver.h"
#include "tessera/core/future.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// The store of a checkpoint that is to be written, in the folder that FolderOf (open_location.h)
// makes of `directory`; it is made when it is not there.  Values are made durable by Flush, not one
// by one.
absl::StatusOr<std::shared_ptr<store::KvStore>> OpenForSave(std::string_view directory);

// Writes every array of `tree` below `directory` and records them in its index.  With a saver of
// the caller's it returns while the save runs; without one it makes its own with `resources` and
// waits, so that the future is ready and an error of the save is returned.
absl::StatusOr<Future<SaveReport>> TreeSerializeLeaves(std::string_view directory,
                                                       const array::ValueTree& tree,
                                                       Saver* saver = nullptr,
                                                       const SaveOptions& options = {},
                                                       const SaverResources& resources = {});

// Save(tree).To("runs/7").Prefix("model").Codec(JaxCodec()).Start(saver).
class Save {
 public:
  explicit Save(array::ValueTree tree) : tree_(std::move(tree)) {}

  Save& To(std::string directory) { return Set(target_, std::move(directory)); }
  Save& To(std::shared_ptr<store::KvStore> store) { return Set(target_, std::move(store)); }
  Save& Prefix(std::string prefix) { return Set(options_.plan.prefix, std::move(prefix)); }
  Save& FloatsAs(DType dtype) { return Set(options_.plan.float_dtype, dtype); }
  Save& ChunkBytes(int64_t most) { return Set(options_.plan.chunk_bytes, most); }
  Save& Codec(SaveCodec codec) { return Set(options_.plan.codec, std::move(codec)); }
  // One file, or shards and their index; see SafetensorsFormat.
  Save& AsSafetensors(SafetensorsFormat format = {}) {
    return Set(options_.plan.format, std::move(format));
  }
  // Brings arrays to host memory first, so that rank 0 writes them: all with true, or those that
  // there are functions for.  What `mover` lends outlives the save.
  Save& Gather(array::GatherFunctions functions, const array::Mover& mover,
               array::ApplyGatherFunctionsOptions options = {}) {
    gathering_.emplace(Gathering{std::move(functions), mover, std::move(options)});
    return *this;
  }
  Save& WithoutIndex() { return Set(options_.write_index, false); }
  Save& Shared() { return Set(options_.snapshot, SnapshotMode::kShare); }
  Save& RefuseIfBusy() { return Set(options_.if_busy, IfBusy::kRefuse); }
  Save& OnCommit(std::function<absl::Status(const SaveReport&)> callback) {
    return Set(options_.commit_callback, std::move(callback));
  }
  Save& OnProgress(std::function<void(const SaveProgress&)> callback) {
    return Set(options_.progress, std::move(callback));
  }
  Save& StopWith(std::stop_token stop) { return Set(options_.stop, std::move(stop)); }
  Save& Timeout(std::chrono::nanoseconds timeout) { return Set(options_.timeout, timeout); }

  const SaveOptions& options() const { return options_; }

  // InvalidArgument without a To(); errors of GatherTree; else as Saver::Start.
  absl::StatusOr<Future<SaveReport>> Start(Saver& saver) const;

  // With a saver of its own; waits for the commit.
  absl::StatusOr<SaveReport> Run(const SaverResources& resources = {}) const;

 private:
  template <typename Field, typename T>
  Save& Set(Field& field, T value) {
    field = std::move(value);
    return *this;
  }

  struct Gathering {
    array::GatherFunctions functions;
    array::Mover mover;
    array::ApplyGatherFunctionsOptions options;
  };

  absl::StatusOr<std::shared_ptr<store::KvStore>> Target() const;

  array::ValueTree tree_;
  std::optional<Gathering> gathering_;
  std::variant<std::monostate, std::string, std::shared_ptr<store::KvStore>> target_;
  SaveOptions options_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_TREE_H_
