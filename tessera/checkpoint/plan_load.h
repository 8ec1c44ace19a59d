// LoadPlan: what a load will do, as plain data.
//
// The plan is a pure function of the checkpoint and the request, so every process makes the same
// one.  It counts and does not list: 100,000 arrays on 512 devices are planned in seconds.
#ifndef TESSERA_CHECKPOINT_PLAN_LOAD_H_
#define TESSERA_CHECKPOINT_PLAN_LOAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/shardings.h"
#include "tessera/core/json.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"

namespace tessera::checkpoint {

struct LoadRequest {
  // Where arrays go; PlaceArrays tells which of these counts.
  std::optional<mesh::Mesh> mesh = {};
  std::optional<std::vector<mesh::PartitionRule>> rules = {};
  ShardingChoices shardings = {};
  bool auto_correct = false;
  // The tree that the result has the structure of.  Only its arrays are loaded.
  std::optional<TargetTree> target = {};
  // Which arrays: those in whose dotted name the Python pattern is found, and of these the listed
  // ones.  Empty: all.
  std::string select = {};
  std::vector<std::string> names = {};
  // Floating arrays become this.
  std::optional<DType> cast = {};
  // Arrays become what the target has; else another dtype there is an error.
  bool cast_to_target = false;
};

// What a plan depends on beside checkpoint and request.
struct LoadFacts {
  // Where arrays go without a mesh.
  mesh::Device default_device = {};
  // Of memory beside the result, per process.
  int64_t budget_bytes = int64_t{1} << 30;
};

struct ArrayPlan {
  std::string name;
  int64_t array = 0;  // its place among the checkpoint's
  ShapeDtype stored;
  DType dtype = DType::kFloat32;  // in the result
  Placement placement;
  Dims shard_shape;
  int64_t device_bytes = 0;  // on each device
  int64_t chunks = 0;        // that the array has
  // Chunks that a process reads: the fewest and the most, of the processes that have a shard.
  int64_t least_parts = 0;
  int64_t most_parts = 0;
  // Of all processes together.
  int64_t requests = 0;       // stored values that are read
  int64_t read_bytes = 0;     // of them, by the manifest; else as if nothing were compressed
  int64_t decoded_bytes = 0;  // of the chunks
  int64_t wanted_bytes = 0;   // of the distinct shards of each process
  friend bool operator==(const ArrayPlan&, const ArrayPlan&) = default;

  // How often a wanted byte is decoded; 1 for an empty array.
  double amplification() const {
    return wanted_bytes == 0 ? 1 : static_cast<double>(decoded_bytes) / wanted_bytes;
  }
};

struct ProcessPlan {
  int process = 0;
  int64_t result_bytes = 0;  // on all its devices
  int64_t requests = 0;
  int64_t read_bytes = 0;
  int64_t decoded_bytes = 0;
  int64_t peak_bytes = 0;  // result and budget
  friend bool operator==(const ProcessPlan&, const ProcessPlan&) = default;
};

struct DevicePlan {
  mesh::Device device;
  int64_t bytes = 0;
  friend bool operator==(const DevicePlan&, const DevicePlan&) = default;
};

struct LoadPlan {
  std::vector<ArrayPlan> arrays = {};       // in the order of the checkpoint
  std::vector<ProcessPlan> processes = {};  // ascending
  std::vector<DevicePlan> devices = {};     // by id
  friend bool operator==(const LoadPlan&, const LoadPlan&) = default;

  // Bytes of an average device to those of the one that gets most, as mesh::ShardingAnalysis has
  // it: 1 when all get as much, or nothing.
  double balance() const;
  // A line for each array, process and device.
  std::string Text() const;
};

// Selection: InvalidArgument for a bad pattern; NotFound, with some of those there are, for names
// that the checkpoint does not have.  Target: FailedPrecondition, naming all of them, for arrays
// that are missing, or have another shape or dtype.  InvalidArgument for a cast that cannot be.
// Errors of PlaceArrays.
absl::StatusOr<LoadPlan> PlanLoad(const Checkpoint& checkpoint, const LoadRequest& request,
                                  const LoadFacts& facts = {});

Json ToJson(const LoadPlan& plan);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_LOAD_H_
