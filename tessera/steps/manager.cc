#include "tessera/steps/manager.h"

#include <map>
#include <numeric>
#include <utility>

#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/save_job.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/alone.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"
#include "tessera/ledger/index_file.h"
#include "tessera/steps/content_hash.h"
#include "tessera/steps/pytree_file.h"
#include "tessera/tree/map.h"

namespace tessera::steps {
namespace {

using checkpoint::Checkpoint;
using checkpoint::SaveReport;

constexpr uint64_t kMaxMetadataBytes = uint64_t{256} << 20;

// The metadata of one prefix, which the last save of another does not replace.
std::string MetadataFileName(std::string_view prefix) {
  return Concat(prefix.empty() ? "pytree" : prefix, "_metadata.json");
}

absl::StatusOr<std::optional<ledger::CheckpointMetadata>> ReadMetadataFile(
    store::KvStore& store, std::string_view name, const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto read,
                           store.Read(name, store::ByteRange::AtMost(kMaxMetadataBytes), stop));
  if (!read.value.has_value()) return std::optional<ledger::CheckpointMetadata>();
  auto metadata = ledger::DecodeCheckpointMetadata(read.value->text());
  if (!metadata.ok()) return Prefixed(metadata.status(), store.Describe(name));
  return std::optional(*std::move(metadata));
}

absl::StatusOr<std::optional<ledger::CheckpointMetadata>> ReadMetadata(
    const Checkpoint& checkpoint, const std::stop_token& stop) {
  store::KvStore& store = checkpoint.store();
  TESSERA_ASSIGN_OR_RETURN(auto own,
                           ReadMetadataFile(store, MetadataFileName(checkpoint.prefix()), stop));
  if (own.has_value()) return own;
  return ReadMetadataFile(store, ledger::kCheckpointMetadataName, stop);
}

// The places of the arrays that a request loads.
absl::StatusOr<std::vector<size_t>> Selected(const Checkpoint& checkpoint,
                                             const checkpoint::LoadRequest& request) {
  if (request.select.empty() && request.names.empty() && !request.target.has_value()) {
    std::vector<size_t> all(checkpoint.arrays().size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  TESSERA_ASSIGN_OR_RETURN(const auto plan, checkpoint::PlanLoad(checkpoint, request));
  std::vector<size_t> selected;
  for (const auto& array : plan.arrays) selected.push_back(static_cast<size_t>(array.array));
  return selected;
}

// The saved tree with what was loaded in its places.
absl::StatusOr<array::ValueTree> Filled(const ledger::SavedTree& saved,
                                        const std::vector<array::Value>& values) {
  return tree::Map(saved, [&](const ledger::SavedLeaf& leaf) -> array::Value {
    if (const auto* array = std::get_if<ledger::ArrayLeaf>(&leaf)) {
      return values[static_cast<size_t>(array->record)];
    }
    return SavedValue(leaf);
  });
}

// Loads all arrays, in the order of the checkpoint.
absl::StatusOr<std::vector<array::Value>> LoadAll(const Checkpoint& checkpoint,
                                                  checkpoint::LoadSettings settings,
                                                  checkpoint::LoadReport& report,
                                                  std::stop_token stop) {
  std::vector<array::Value> values;
  settings.options.callback = [&values, callback = settings.options.callback](
                                  array::ShardedArray array,
                                  std::string_view name) -> absl::StatusOr<array::Value> {
    array::Value value = array;
    if (callback != nullptr) {
      TESSERA_ASSIGN_OR_RETURN(value, callback(std::move(array), name));
    }
    values.push_back(value);
    return value;
  };
  TESSERA_ASSIGN_OR_RETURN(checkpoint::LoadResult result,
                           checkpoint::LoadOpened(checkpoint, settings, std::move(stop)));
  report = std::move(result.report);
  if (values.size() == checkpoint.arrays().size()) return values;
  return Internal(values.size(), " of ", checkpoint.arrays().size(), " arrays were loaded");
}

absl::Status CheckPytreeRequest(const checkpoint::LoadRequest& request) {
  if (request.select.empty() && request.names.empty() && !request.target.has_value()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "a pytree is loaded whole: the request must have no selection, and its "
      "target is `like`");
}

}  // namespace

// What the saver gets for one part.
struct CheckpointManager::Prepared {
  array::ValueTree tree;
  TreeHashes hashes;
  checkpoint::SaveOptions options;
};

CheckpointManager::CheckpointManager(const ManagerResources& resources)
    : own_io_(resources.io == nullptr ? std::make_unique<IoContext>() : nullptr),
      own_comm_(resources.comm == nullptr ? comm::MakeAlone() : nullptr),
      io_(resources.io == nullptr ? own_io_.get() : resources.io),
      comm_(resources.comm == nullptr ? own_comm_.get() : resources.comm),
      platform_(resources.platform),
      clock_(resources.clock),
      saver_({.io = io_, .platform = platform_, .comm = comm_}) {
  if (clock_ == nullptr) clock_ = [] { return std::chrono::system_clock::now(); };
}

absl::StatusOr<Future<SaveReport>> CheckpointManager::SaveTree(const array::ValueTree& tree,
                                                               absl::StatusOr<StorePtr> store,
                                                               const TreeSaveOptions& options) {
  const TreePart part{&tree, options};
  const bool named = store.ok() && *store != nullptr;
  const std::string path = named ? (*store)->Describe("") : std::string();
  TESSERA_ASSIGN_OR_RETURN(const auto futures, SaveAll({&part, 1}, std::move(store), path));
  return futures.front();
}

absl::StatusOr<Future<SaveReport>> CheckpointManager::SaveTree(const array::ValueTree& tree,
                                                               std::string_view path,
                                                               const TreeSaveOptions& options) {
  const TreePart part{&tree, options};
  TESSERA_ASSIGN_OR_RETURN(const auto futures,
                           SaveAll({&part, 1}, checkpoint::OpenForSave(path), path));
  return futures.front();
}

absl::StatusOr<Future<SaveReport>> CheckpointManager::SavePytree(const array::ValueTree& tree,
                                                                 absl::StatusOr<StorePtr> store,
                                                                 const TreeSaveOptions& options) {
  const TreePart part{&tree, options, true};
  const bool named = store.ok() && *store != nullptr;
  const std::string path = named ? (*store)->Describe("") : std::string();
  TESSERA_ASSIGN_OR_RETURN(const auto futures, SaveAll({&part, 1}, std::move(store), path));
  return futures.front();
}

absl::StatusOr<Future<SaveReport>> CheckpointManager::SavePytree(const array::ValueTree& tree,
                                                                 std::string_view path,
                                                                 const TreeSaveOptions& options) {
  const TreePart part{&tree, options, true};
  TESSERA_ASSIGN_OR_RETURN(const auto futures,
                           SaveAll({&part, 1}, checkpoint::OpenForSave(path), path));
  return futures.front();
}

absl::StatusOr<std::vector<Future<SaveReport>>> CheckpointManager::SaveAll(
    std::span<const TreePart> parts, absl::StatusOr<StorePtr> store, std::string_view path) {
  if (parts.empty()) return InvalidArgument("there is no tree to save");
  if (parts.front().options.save.if_busy == checkpoint::IfBusy::kRefuse && busy()) {
    return FailedPrecondition("another save is under way, and if_busy is kRefuse");
  }
  // The ranks' Comm is the running save's until it ends.
  TESSERA_RETURN_IF_ERROR(WaitUntilFinished());
  std::vector<Prepared> prepared;
  for (const TreePart& part : parts) {
    TESSERA_ASSIGN_OR_RETURN(Prepared one, Prepare(part, std::string(path)));
    const absl::Status files = AddFiles(part, one);
    // So all ranks hear of what only one may know.
    if (!files.ok() && store.ok()) store = files;
    prepared.push_back(std::move(one));
  }
  std::vector<checkpoint::SavePart> saves;
  for (const Prepared& one : prepared) saves.push_back({&one.tree, one.options});
  return saver_.StartAll(store, saves);
}

absl::StatusOr<array::ValueTree> CheckpointManager::Gathered(const TreePart& part) {
  const auto* const whether = std::get_if<bool>(&part.options.gather);
  if (whether != nullptr && !*whether) return *part.tree;
  array::FlatState state;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(*part.tree, [&](const tree::KeyPathView& path, const array::Value& value) {
        state.emplace_back(path.Dotted(), value);
      }));
  std::unique_ptr<device::Platform> own;
  if (platform_ == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(own, HostPlatformOf(*part.tree));
  }
  const array::Mover mover{own != nullptr ? *own : *platform_, *comm_};
  TESSERA_ASSIGN_OR_RETURN(const array::GatheredState gathered,
                           array::ApplyGatherFunctions(state, part.options.gather, mover));
  size_t next = 0;
  return tree::Map(*part.tree, [&](const array::Value&) { return gathered.state[next++].second; });
}

absl::StatusOr<CheckpointManager::Prepared> CheckpointManager::Prepare(const TreePart& part,
                                                                       const std::string& path) {
  Prepared prepared;
  prepared.options = part.options.save;
  TESSERA_ASSIGN_OR_RETURN(prepared.tree, Gathered(part));
  if (part.options.validate) {
    HashTreeOptions options{.float_dtype = part.options.save.plan.float_dtype};
    if (part.options.save.timeout.has_value()) options.limit.timeout = *part.options.save.timeout;
    TESSERA_ASSIGN_OR_RETURN(prepared.hashes, HashTree(prepared.tree, platform_, *comm_, options));
  }
  if (part.options.callback != nullptr) {
    prepared.options.commit_callback =
        [path, callback = part.options.callback,
         first = prepared.options.commit_callback](const SaveReport& report) -> absl::Status {
      if (first != nullptr) TESSERA_RETURN_IF_ERROR(first(report));
      return callback(path);
    };
  }
  return prepared;
}

absl::Status CheckpointManager::AddFiles(const TreePart& part, Prepared& prepared) {
  if (comm_->rank() != 0) return absl::OkStatus();
  const ledger::CheckpointMetadata metadata{
      .version = std::string(ledger::WriterVersion()),
      .timestamp = ledger::FormatTimestamp(clock_()),
      .checksum = prepared.hashes.checksums,
      .array_metadata = prepared.hashes.types,
      .custom_metadata = part.options.metadata,
  };
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeCheckpointMetadata(metadata));
  const Bytes content = Bytes::CopyOf(text);
  const std::string& prefix = prepared.options.plan.prefix;
  prepared.options.side_files.push_back({MetadataFileName(prefix), content});
  prepared.options.shared_files.push_back({std::string(ledger::kCheckpointMetadataName), content});
  if (!part.structured) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(commit::SideFile file,
                           MakeStructureFile(prepared.tree, prepared.options.plan,
                                             part.options.metadata, comm_->size()));
  prepared.options.side_files.push_back(std::move(file));
  return absl::OkStatus();
}

checkpoint::LoadSettings CheckpointManager::SettingsOf(const TreeLoadOptions& options) {
  return {
      .open = {.prefix = options.prefix, .verify = options.load.read.verify, .file = options.file},
      .request = options.request,
      .options = options.load,
      .lent = {io_, platform_, comm_}};
}

absl::StatusOr<LoadedTree> CheckpointManager::Open(store::KvStore& store,
                                                   const TreeLoadOptions& options,
                                                   std::optional<Checkpoint>& checkpoint,
                                                   std::stop_token stop) {
  // The ranks' Comm is the running save's until it ends.
  if (comm_->size() > 1) TESSERA_RETURN_IF_ERROR(WaitUntilFinished());
  TESSERA_ASSIGN_OR_RETURN(checkpoint,
                           Checkpoint::Open(store, *io_, SettingsOf(options).open, stop));
  LoadedTree loaded;
  TESSERA_ASSIGN_OR_RETURN(loaded.metadata, ReadMetadata(*checkpoint, stop));
  if (!options.validate) return loaded;
  if (!loaded.metadata.has_value()) {
    return FailedPrecondition(store.Describe(ledger::kCheckpointMetadataName),
                              ": no such file, so there are no checksums to validate with");
  }
  TESSERA_ASSIGN_OR_RETURN(const auto selected, Selected(*checkpoint, options.request));
  comm::Limit limit = options.load.limit;
  limit.stop = stop;
  TESSERA_RETURN_IF_ERROR(
      CheckContent(*checkpoint, selected, loaded.metadata->checksum, *io_, comm_, limit));
  return loaded;
}

absl::StatusOr<LoadedTree> CheckpointManager::Load(const StorePtr& store,
                                                   const TreeLoadOptions& options,
                                                   std::stop_token stop) {
  if (store == nullptr) return InvalidArgument("there is no store to load from");
  std::optional<Checkpoint> checkpoint;
  TESSERA_ASSIGN_OR_RETURN(LoadedTree loaded, Open(*store, options, checkpoint, stop));
  TESSERA_ASSIGN_OR_RETURN(
      checkpoint::LoadResult result,
      checkpoint::LoadOpened(*checkpoint, SettingsOf(options), std::move(stop)));
  loaded.tree = std::move(result.tree);
  loaded.report = std::move(result.report);
  return loaded;
}

absl::StatusOr<LoadedTree> CheckpointManager::Load(std::string_view path,
                                                   const TreeLoadOptions& options,
                                                   std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(checkpoint::Location location, checkpoint::OpenLocation(path));
  TreeLoadOptions with_file = options;
  if (!location.file.empty()) with_file.file = std::move(location.file);
  return Load(StorePtr(std::move(location.store)), with_file, std::move(stop));
}

absl::StatusOr<LoadedTree> CheckpointManager::LoadPytree(const StorePtr& store,
                                                         const PytreeLoadOptions& options,
                                                         std::stop_token stop) {
  if (store == nullptr) return InvalidArgument("there is no store to load from");
  TESSERA_RETURN_IF_ERROR(CheckPytreeRequest(options.request));
  std::optional<Checkpoint> checkpoint;
  TESSERA_ASSIGN_OR_RETURN(LoadedTree loaded, Open(*store, options, checkpoint, stop));
  TESSERA_ASSIGN_OR_RETURN(const ledger::SavedTree saved, ReadSavedTree(*checkpoint, stop));
  if (options.like.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(LoadedLike like,
                             LoadLike(*checkpoint, SettingsOf(options), *options.like, saved,
                                      options.strict, std::move(stop)));
    loaded.tree = std::move(like.tree);
    loaded.report = std::move(like.report);
    loaded.changes = std::move(like.changes);
    return loaded;
  }
  TESSERA_ASSIGN_OR_RETURN(
      const std::vector<array::Value> values,
      LoadAll(*checkpoint, SettingsOf(options), loaded.report, std::move(stop)));
  TESSERA_ASSIGN_OR_RETURN(loaded.tree, Filled(saved, values));
  return loaded;
}

absl::StatusOr<LoadedTree> CheckpointManager::LoadPytree(std::string_view path,
                                                         const PytreeLoadOptions& options,
                                                         std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(checkpoint::Location location, checkpoint::OpenLocation(path));
  PytreeLoadOptions with_file = options;
  if (!location.file.empty()) with_file.file = std::move(location.file);
  return LoadPytree(StorePtr(std::move(location.store)), with_file, std::move(stop));
}

absl::StatusOr<bool> CheckpointManager::IsTensorstore(std::string_view path) {
  const auto location = checkpoint::OpenLocation(path);
  if (absl::IsNotFound(location.status())) return false;
  TESSERA_RETURN_IF_ERROR(location.status());
  if (!location->file.empty()) return false;
  TESSERA_ASSIGN_OR_RETURN(const auto index, location->store->Read(ledger::kIndexName));
  if (index.value.has_value()) return true;
  TESSERA_ASSIGN_OR_RETURN(const auto entries, location->store->List(""));
  for (const store::ListEntry& entry : entries) {
    const size_t slash = entry.key.rfind('/');
    if (slash == std::string::npos || entry.key.starts_with(commit::kOwnFolder)) continue;
    const std::string_view name = std::string_view(entry.key).substr(slash + 1);
    if (name == ".zarray" || name == "zarr.json") return true;
  }
  return false;
}

absl::StatusOr<std::string> CheckpointManager::SafeLoadPath(std::string_view path) {
  return checkpoint::FolderOf(path);
}

}  // namespace tessera::steps
