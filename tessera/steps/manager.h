// CheckpointManager: saves and loads trees with their metadata, checksums and structure.
//
// What eformer's AsyncCheckpointManager promises.  Here floats keep their dtype unless
// SaveOptions::plan.float_dtype says another (eformer: bfloat16), checksums are really compared,
// the dtype of a load counts for every kind of checkpoint, and no pickle is run.
#ifndef TESSERA_STEPS_MANAGER_H_
#define TESSERA_STEPS_MANAGER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/array/shard_and_gather.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/saver.h"
#include "tessera/comm/comm.h"
#include "tessera/core/future.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/steps/load_like.h"
#include "tessera/store/kv_store.h"

namespace tessera::steps {

using StorePtr = std::shared_ptr<store::KvStore>;
using WallClock = std::function<std::chrono::system_clock::time_point()>;

// All of it is lent and outlives the manager.
struct ManagerResources {
  IoContext* io = nullptr;               // nullptr: one of the manager's own
  device::Platform* platform = nullptr;  // nullptr: the host can look at all arrays
  comm::Comm* comm = nullptr;            // as SaverResources::comm
  WallClock clock = nullptr;             // thread-safe; nullptr: the system's
};

struct TreeSaveOptions {
  // Prefix, dtype of floats, codec, snapshot, deadline and so on.
  checkpoint::SaveOptions save = {};
  // Applied to the tree first; true brings every array to the host of every rank.
  array::GatherFunctions gather = false;
  // The caller's, as a JSON object: custom_metadata of checkpoint_metadata.json and, with a
  // structure, extras of its file.
  std::string metadata = "{}";
  // Called on rank 0 with the path, or what the store calls itself, after the commit and after
  // save.commit_callback.  Its error is the save's.
  std::function<absl::Status(std::string_view path)> callback = nullptr;
  // Keeps the SHA-256 of every array as it is in memory now.  The caller waits until they are
  // computed; arrays that are spread over ranks are brought together on each, one at a time.
  bool validate = false;
};

struct TreeLoadOptions {
  std::string prefix = {};
  // Mesh, rules, shardings, selection, dtype (`cast`).
  checkpoint::LoadRequest request = {};
  // Callback, chunk_size, what becomes of absent chunks, sharing of reads.
  checkpoint::LoadOptions load = {};
  // Compares the SHA-256 of every array with the one that was kept, before anything is loaded: the
  // data is read twice.  DataLoss names the keys; FailedPrecondition when none was kept.
  bool validate = false;
  std::string file = {};  // in the folder; see OpenOptions
};

struct LoadedTree {
  array::ValueTree tree;
  // nullopt: the checkpoint has none.
  std::optional<ledger::CheckpointMetadata> metadata = {};
  checkpoint::LoadReport report = {};
  std::vector<FitChange> changes = {};  // of a load that is not strict
};

struct PytreeLoadOptions : TreeLoadOptions {
  // The result gets its structure; else that of the tree that was saved.
  std::optional<array::ValueTree> like = {};
  // What `like` must fit exactly; see LoadLike.
  bool strict = true;
};

// A tree of one prefix of a checkpoint.
struct TreePart {
  const array::ValueTree* tree = nullptr;  // lives as long as the call
  TreeSaveOptions options = {};
  bool structured = false;  // as SavePytree does
};

// Used by one thread at a time; collective as Saver is.
class CheckpointManager {
 public:
  explicit CheckpointManager(const ManagerResources& resources = {});

  // Writes arrays, index and checkpoint_metadata.json in one commit; the future as that of
  // Saver::Start.  The metadata also goes to <prefix>_metadata.json, as the other file is that of
  // the last save into the folder, whatever its prefix.
  absl::StatusOr<Future<checkpoint::SaveReport>> SaveTree(const array::ValueTree& tree,
                                                          absl::StatusOr<StorePtr> store,
                                                          const TreeSaveOptions& options = {});
  absl::StatusOr<Future<checkpoint::SaveReport>> SaveTree(const array::ValueTree& tree,
                                                          std::string_view path,
                                                          const TreeSaveOptions& options = {});

  // The same with <prefix>_structure.json, from which eformer's load_pytree and LoadPytree make
  // the very tree, values that are no arrays included.  InvalidArgument, naming each, for values
  // that cannot be kept; Unimplemented for containers that Python would not find again.
  absl::StatusOr<Future<checkpoint::SaveReport>> SavePytree(const array::ValueTree& tree,
                                                            absl::StatusOr<StorePtr> store,
                                                            const TreeSaveOptions& options = {});
  absl::StatusOr<Future<checkpoint::SaveReport>> SavePytree(const array::ValueTree& tree,
                                                            std::string_view path,
                                                            const TreeSaveOptions& options = {});

  // Several prefixes of one checkpoint, as Saver::StartAll.  `path` is what callbacks are told.
  absl::StatusOr<std::vector<Future<checkpoint::SaveReport>>> SaveAll(
      std::span<const TreePart> parts, absl::StatusOr<StorePtr> store, std::string_view path);

  // The arrays of a prefix, nested as they were saved, and the metadata.  With several ranks, loads
  // wait for the save that runs, and return its error.
  absl::StatusOr<LoadedTree> Load(const StorePtr& store, const TreeLoadOptions& options = {},
                                  std::stop_token stop = {});
  absl::StatusOr<LoadedTree> Load(std::string_view path, const TreeLoadOptions& options = {},
                                  std::stop_token stop = {});

  // The very tree that was saved, or one like a template.  NotFound when nothing tells the
  // structure; InvalidArgument when the request selects arrays or has a target.
  absl::StatusOr<LoadedTree> LoadPytree(const StorePtr& store,
                                        const PytreeLoadOptions& options = {},
                                        std::stop_token stop = {});
  absl::StatusOr<LoadedTree> LoadPytree(std::string_view path,
                                        const PytreeLoadOptions& options = {},
                                        std::stop_token stop = {});

  // As those of Saver.
  absl::Status WaitUntilFinished() { return saver_.WaitUntilFinished(); }
  bool busy() const { return saver_.busy(); }

  // Whether there is an index or, in a child folder, the metadata of an array.  `path` may be that
  // of the index itself, and need not exist.  Errors of FolderOf.
  static absl::StatusOr<bool> IsTensorstore(std::string_view path);
  // The folder of a path that may be that of an index.  Errors of FolderOf.
  static absl::StatusOr<std::string> SafeLoadPath(std::string_view path);

 private:
  struct Prepared;
  absl::StatusOr<Prepared> Prepare(const TreePart& part, const std::string& path);
  absl::StatusOr<array::ValueTree> Gathered(const TreePart& part);
  absl::Status AddFiles(const TreePart& part, Prepared& prepared);
  absl::StatusOr<LoadedTree> Open(store::KvStore& store, const TreeLoadOptions& options,
                                  std::optional<checkpoint::Checkpoint>& checkpoint,
                                  std::stop_token stop);
  checkpoint::LoadSettings SettingsOf(const TreeLoadOptions& options);

  std::unique_ptr<IoContext> own_io_;
  std::unique_ptr<comm::Comm> own_comm_;
  IoContext* io_;
  comm::Comm* comm_;
  device::Platform* platform_;
  WallClock clock_;
  checkpoint::Saver saver_;
};

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_MANAGER_H_
