#include "tessera/checkpoint/checkpoint_file.h"

#include <memory>

#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/comm/alone.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/device/host_platform.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/tree/flat_map.h"

namespace tessera::checkpoint {
namespace {

constexpr std::string_view kEnding = ".safetensors";

// Lent or made for the call.
struct Resources {
  std::unique_ptr<IoContext> own_io;
  std::unique_ptr<comm::Comm> own_comm;
  std::unique_ptr<device::Platform> own_platform;
  IoContext* io = nullptr;
  comm::Comm* comm = nullptr;
  device::Platform* platform = nullptr;
};

absl::StatusOr<Resources> ResourcesOf(const LentResources& lent) {
  Resources resources;
  resources.io = lent.io;
  resources.comm = lent.comm;
  resources.platform = lent.platform;
  if (lent.io == nullptr) {
    resources.own_io = std::make_unique<IoContext>();
    resources.io = resources.own_io.get();
  }
  if (lent.comm == nullptr) {
    resources.own_comm = comm::MakeAlone();
    resources.comm = resources.own_comm.get();
  }
  if (lent.platform == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(resources.own_platform, device::MakeHostPlatform({.count = 1}));
    resources.platform = resources.own_platform.get();
  }
  return resources;
}

// Folder and name of a path.
std::pair<std::string, std::string> Split(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, slash + 1)), std::string(path.substr(slash + 1))};
}

// The index of a shard's set, where there is one.
absl::StatusOr<std::string> PathOfSet(std::string_view path) {
  const std::string stem = safetensors::DeriveBasePrefixFromPath(path);
  if (!path.ends_with(kEnding) || Concat(stem, kEnding) == path) return std::string(path);
  std::string index = safetensors::IndexFilename(stem);
  const auto location = OpenLocation(index);
  if (absl::IsNotFound(location.status())) return std::string(path);
  TESSERA_RETURN_IF_ERROR(location.status());
  return index;
}

absl::StatusOr<array::HostArray> ReadHost(const Checkpoint& checkpoint,
                                          const CheckpointArray& array, IoContext& io,
                                          const std::stop_token& stop) {
  const ShapeDtype about = array.shape_dtype();
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(about.dtype, about.shape));
  const std::shared_ptr<std::byte[]> memory(new std::byte[static_cast<size_t>(bytes)]);
  const StridedView target = RowMajorView(memory.get(), about.shape, DTypeBytes(about.dtype));
  TESSERA_ASSIGN_OR_RETURN(const ArrayReader reader, ArrayReader::Make(checkpoint, array, {}));
  TESSERA_RETURN_IF_ERROR(reader.ReadBox(Box::Whole(about.shape), target, io, stop));
  return array::HostArray::Borrow(AsConst(target), about.dtype, memory);
}

}  // namespace

absl::StatusOr<SavedCheckpointFile> SaveCheckpointFile(std::string_view path,
                                                       const array::ValueTree& tree,
                                                       const SaveCheckpointFileOptions& options,
                                                       std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const Resources resources, ResourcesOf(options.lent));
  const std::string stem_path = safetensors::DeriveBasePrefixFromPath(path);
  const auto [folder, stem] = Split(stem_path);
  if (stem.empty()) return InvalidArgument("path ", Quoted(path), " ends without a file's name");
  Save save(tree);
  save.To(folder)
      .StopWith(std::move(stop))
      .AsSafetensors(
          {.stem = stem, .shard_bytes = options.shard_bytes, .metadata = options.metadata});
  if (options.float_dtype.has_value()) save.FloatsAs(*options.float_dtype);
  const auto* whether = std::get_if<bool>(&options.gather);
  if (whether == nullptr || *whether) {
    save.Gather(options.gather, {*resources.platform, *resources.comm},
                {.mismatch_allowed = options.mismatch_allowed});
  }
  TESSERA_ASSIGN_OR_RETURN(
      SaveReport report,
      save.Run({.io = resources.io, .platform = options.lent.platform, .comm = options.lent.comm}));
  return SavedCheckpointFile{options.shard_bytes.has_value() ? safetensors::IndexFilename(stem_path)
                                                             : Concat(stem_path, kEnding),
                             std::move(report)};
}

absl::StatusOr<LoadedCheckpointFile> LoadCheckpointFile(std::string_view path,
                                                        const ReadProcessArrayOptions& options,
                                                        const LentResources& lent,
                                                        std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const Resources resources, ResourcesOf(lent));
  TESSERA_ASSIGN_OR_RETURN(const std::string set, PathOfSet(path));
  TESSERA_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                           Checkpoint::OpenAt(set, *resources.io, {}, stop));
  LoadedCheckpointFile loaded;
  loaded.metadata = checkpoint.header_metadata();
  std::vector<tree::ComponentLeaf<array::Value>> leaves;
  for (const CheckpointArray& array : checkpoint.arrays()) {
    const auto read = [&](std::string_view) -> absl::StatusOr<array::Value> {
      TESSERA_ASSIGN_OR_RETURN(array::HostArray host,
                               ReadHost(checkpoint, array, *resources.io, stop));
      return array::Value(std::move(host));
    };
    TESSERA_ASSIGN_OR_RETURN(ProcessedArray processed,
                             ReadProcessArray(array.name, read, *resources.platform, options));
    loaded.mismatches += processed.mismatch;
    leaves.push_back({array.key, std::move(processed.value)});
  }
  TESSERA_ASSIGN_OR_RETURN(loaded.tree, tree::UnflattenComponents(std::move(leaves)));
  return loaded;
}

}  // namespace tessera::checkpoint
