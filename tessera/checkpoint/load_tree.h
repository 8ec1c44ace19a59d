// Loading in one call: from a folder's name to a tree on devices.
#ifndef TESSERA_CHECKPOINT_LOAD_TREE_H_
#define TESSERA_CHECKPOINT_LOAD_TREE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/sharding_tree.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"
#include "tessera/device/device.h"

namespace tessera::checkpoint {

// What a caller may lend; what is nullptr is made for the call.  Without a platform that is one
// host device for each of the mesh's devices, all of which must be of one process.
struct LentResources {
  IoContext* io = nullptr;
  device::Platform* platform = nullptr;
  comm::Comm* comm = nullptr;
};

// All that a load depends on.
struct LoadSettings {
  OpenOptions open = {};
  LoadRequest request = {};
  LoadOptions options = {};
  LentResources lent = {};
};

// Errors of Checkpoint::OpenAt and LoadCheckpoint.
absl::StatusOr<LoadResult> LoadFrom(std::string_view location, const LoadSettings& settings,
                                    std::stop_token stop = {});

// The same of a checkpoint that is open; settings.open means nothing.
absl::StatusOr<LoadResult> LoadOpened(const Checkpoint& checkpoint, const LoadSettings& settings,
                                      std::stop_token stop = {});

struct TreeDeserializeOptions {
  std::string prefix = {};
  std::optional<std::vector<mesh::PartitionRule>> partition_rules = {};
  ShardingChoices shardings = {};
  LoadCallback callback = nullptr;
  int64_t chunk_size = 0;
  bool auto_correct = false;
  LentResources lent = {};
};

// The arrays that the index in `directory` lists for the prefix, nested as they were saved.
absl::StatusOr<array::ValueTree> TreeDeserializeLeaves(std::string_view directory,
                                                       const std::optional<mesh::Mesh>& mesh = {},
                                                       const TreeDeserializeOptions& options = {},
                                                       std::stop_token stop = {});

// The same step by step: Load(dir).Prefix("model").Mesh(mesh).Rules(rules).Run().
class Load {
 public:
  explicit Load(std::string_view location) : location_(location) {}

  Load& Prefix(std::string prefix) {
    settings_.open.prefix = std::move(prefix);
    return *this;
  }
  Load& AllPrefixes() {
    settings_.open.all_prefixes = true;
    return *this;
  }
  Load& Mesh(mesh::Mesh mesh) {
    settings_.request.mesh = std::move(mesh);
    return *this;
  }
  Load& Rules(std::vector<mesh::PartitionRule> rules) {
    settings_.request.rules = std::move(rules);
    return *this;
  }
  Load& Shardings(ShardingChoices choices) {
    settings_.request.shardings = std::move(choices);
    return *this;
  }
  Load& Target(TargetTree target) {
    settings_.request.target = std::move(target);
    return *this;
  }
  Load& AutoCorrect() {
    settings_.request.auto_correct = true;
    return *this;
  }
  Load& Cast(DType dtype) {
    settings_.request.cast = dtype;
    return *this;
  }
  // Names that hold the pattern.
  Load& Select(std::string pattern) {
    settings_.request.select = std::move(pattern);
    return *this;
  }
  Load& Only(std::vector<std::string> names) {
    settings_.request.names = std::move(names);
    return *this;
  }
  Load& Verify(bool verify) {
    settings_.open.verify = verify;
    settings_.options.read.verify = verify;
    return *this;
  }
  Load& Absent(AbsentChunks absent) {
    settings_.options.read.absent = absent;
    return *this;
  }
  Load& Callback(LoadCallback callback) {
    settings_.options.callback = std::move(callback);
    return *this;
  }
  Load& ChunkSize(int64_t arrays) {
    settings_.options.chunk_size = arrays;
    return *this;
  }
  Load& ShareReads(comm::Comm& comm) {
    settings_.options.share_reads = true;
    settings_.lent.comm = &comm;
    return *this;
  }
  Load& On(device::Platform& platform) {
    settings_.lent.platform = &platform;
    return *this;
  }
  Load& With(IoContext& io) {
    settings_.lent.io = &io;
    return *this;
  }

  const LoadSettings& settings() const { return settings_; }
  absl::StatusOr<LoadResult> Run(std::stop_token stop = {}) const {
    return LoadFrom(location_, settings_, std::move(stop));
  }

 private:
  std::string location_;
  LoadSettings settings_;
};

// CreateShardingTreeFromIndex with the index in a folder.  NotFound without one, or with
// `allow_missing` an empty dict and a warning.
absl::StatusOr<ShardingTree> CreateShardingTreeFromIndex(std::string_view directory,
                                                         const ShardingTreeOptions& options = {},
                                                         bool allow_missing = false);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_TREE_H_
