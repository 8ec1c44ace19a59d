#include "tessera/checkpoint/load_tree.h"

#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/open_set.h"
#include "tessera/commit/view.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"

namespace tessera::checkpoint {
namespace {

// Host devices that stand for those of the mesh.
absl::StatusOr<std::unique_ptr<device::Platform>> PlatformFor(
    const std::optional<mesh::Mesh>& mesh) {
  device::HostPlatformOptions options;
  if (!mesh.has_value() || mesh->empty()) return device::MakeHostPlatform(options);
  options.process = mesh->devices().front().process;
  for (const mesh::Device& device : mesh->devices()) {
    if (device.process != options.process) {
      return InvalidArgument(mesh->Text(), " has devices of several processes, so the platform of ",
                             "this one must be given");
    }
    options.ids.push_back(device.id);
  }
  return device::MakeHostPlatform(options);
}

// Calls `load` with what was lent, or with what is made in its place.
template <typename Fn>
absl::StatusOr<LoadResult> WithIo(const LoadSettings& settings, Fn load) {
  if (settings.lent.io != nullptr) return load(*settings.lent.io);
  IoContext io;
  return load(io);
}

absl::StatusOr<LoadResult> LoadWith(const Checkpoint& checkpoint, const LoadSettings& settings,
                                    IoContext& io, std::stop_token stop) {
  std::unique_ptr<device::Platform> own;
  if (settings.lent.platform == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(own, PlatformFor(settings.request.mesh));
  }
  const LoadContext context{io, own != nullptr ? *own : *settings.lent.platform,
                            settings.lent.comm};
  return LoadCheckpoint(checkpoint, settings.request, context, settings.options, std::move(stop));
}

// What an index would list of a set of safetensors files, whose headers say as much; nullopt when
// there is no such set.
absl::StatusOr<std::optional<std::vector<ledger::ArrayRecord>>> RecordsOfSet(
    const commit::View& view, const std::string& file, const std::string& prefix) {
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const Detected detected, DetectFormat(view, file, io));
  if (detected.format != Format::kSafetensors) return std::nullopt;
  TESSERA_ASSIGN_OR_RETURN(const OpenedSet opened,
                           OpenSet(*view.store, detected.files, prefix, false, io));
  std::vector<ledger::ArrayRecord> records;
  for (const CheckpointArray& array : opened.arrays) records.push_back(array.Record());
  return records;
}

}  // namespace

absl::StatusOr<LoadResult> LoadFrom(std::string_view location, const LoadSettings& settings,
                                    std::stop_token stop) {
  return WithIo(settings, [&](IoContext& io) -> absl::StatusOr<LoadResult> {
    TESSERA_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                             Checkpoint::OpenAt(location, io, settings.open, stop));
    return LoadWith(checkpoint, settings, io, stop);
  });
}

absl::StatusOr<LoadResult> LoadOpened(const Checkpoint& checkpoint, const LoadSettings& settings,
                                      std::stop_token stop) {
  return WithIo(settings, [&](IoContext& io) { return LoadWith(checkpoint, settings, io, stop); });
}

absl::StatusOr<array::ValueTree> TreeDeserializeLeaves(std::string_view directory,
                                                       const std::optional<mesh::Mesh>& mesh,
                                                       const TreeDeserializeOptions& options,
                                                       std::stop_token stop) {
  LoadSettings settings;
  settings.open.prefix = options.prefix;
  settings.request.mesh = mesh;
  settings.request.rules = options.partition_rules;
  settings.request.shardings = options.shardings;
  settings.request.auto_correct = options.auto_correct;
  settings.options.callback = options.callback;
  settings.options.chunk_size = options.chunk_size;
  settings.lent = options.lent;
  TESSERA_ASSIGN_OR_RETURN(LoadResult result, LoadFrom(directory, settings, std::move(stop)));
  return std::move(result.tree);
}

absl::StatusOr<ShardingTree> CreateShardingTreeFromIndex(std::string_view directory,
                                                         const ShardingTreeOptions& options,
                                                         bool allow_missing) {
  TESSERA_ASSIGN_OR_RETURN(const Location location, OpenLocation(directory));
  const auto& store = location.store;
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(*store));
  const std::string where = store->Describe(ledger::kIndexName);
  TESSERA_ASSIGN_OR_RETURN(auto records, RecordsOfSet(view, location.file, options.prefix));
  if (records.has_value()) {
    ShardingTreeOptions without_prefix = options;
    without_prefix.prefix.clear();
    ledger::TensorstoreIndex index;
    index.arrays = *std::move(records);
    return CreateShardingTreeFromIndex(index, without_prefix);
  }
  if (!view.index_text.has_value()) {
    if (!allow_missing) return NotFound(where, ": no index");
    LogWarning("create_sharding_tree_from_index: ", where, " is missing");
    return ShardingTree::MakeDict({});
  }
  const auto index = ledger::DecodeIndexFile(view.index_text->text());
  if (!index.ok()) return Prefixed(index.status(), where);
  return CreateShardingTreeFromIndex(*index, options);
}

}  // namespace tessera::checkpoint
