// Shardings: a spec bound to a mesh, and what it means for one array: a box per device.
#ifndef TESSERA_MESH_SHARDING_H_
#define TESSERA_MESH_SHARDING_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::mesh {

// An array spread over a mesh.  A value: equality compares mesh, spec (length matters) and memory
// kind; see AreEquivalent for "places every byte alike".
class NamedSharding {
 public:
  // InvalidArgument when the spec names an axis that the mesh lacks; of kind duplicate_axis when
  // it uses one axis twice.  Rank and divisibility depend on the array and are checked with it.
  static absl::StatusOr<NamedSharding> Make(Mesh mesh, PartitionSpec spec,
                                            std::string memory_kind = "");

  // The whole array on every device.
  static NamedSharding Replicated(Mesh mesh);

  const Mesh& mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  const std::string& memory_kind() const { return memory_kind_; }

  // "NS(Mesh('dp': 2), P('dp'))".
  std::string Text() const;

  friend bool operator==(const NamedSharding&, const NamedSharding&) = default;

 private:
  NamedSharding(Mesh mesh, PartitionSpec spec, std::string memory_kind)
      : mesh_(std::move(mesh)), spec_(std::move(spec)), memory_kind_(std::move(memory_kind)) {}

  Mesh mesh_;
  PartitionSpec spec_;
  std::string memory_kind_;
};

// The whole array on one device.
struct SingleDeviceSharding {
  Device device;
  std::string memory_kind = {};
  friend bool operator==(const SingleDeviceSharding&, const SingleDeviceSharding&) = default;
};

using Sharding = std::variant<NamedSharding, SingleDeviceSharding>;

std::string ShardingText(const Sharding& sharding);

// What one device holds of an array.
struct DeviceShard {
  Device device;
  Box box;
  // How many earlier devices hold the same box.  Number 0 is the one that writes it.
  int64_t replica_id = 0;
  friend bool operator==(const DeviceShard&, const DeviceShard&) = default;
};

// Into how many parts each dimension is split.  InvalidArgument when the spec is longer than the
// rank; Unimplemented for an entry that is left to the runtime.
absl::StatusOr<Dims> SplitFactors(const Sharding& sharding, int rank);

// The shape of every shard.  Errors of SplitFactors, and kind indivisible when a dimension does not
// split evenly.
absl::StatusOr<Dims> ShardShape(const Sharding& sharding, DimsView shape);

// One shard per device, in device order.  FailedPrecondition of kind no_mesh on the empty mesh.
absl::StatusOr<std::vector<DeviceShard>> PlaceShards(const Sharding& sharding, DimsView shape);

// All devices, in device order.
std::vector<Device> DevicesOf(const Sharding& sharding);

// Those whose memory `process` can reach.
std::vector<Device> AddressableDevices(const Sharding& sharding, int process);

// Every device holds the whole array, whatever its shape.
bool IsFullyReplicated(const Sharding& sharding);

// There is a device, and `process` can reach each one.
bool IsFullyAddressable(const Sharding& sharding, int process);

// Same devices in the same order, each with the same box of every array of this rank.
absl::StatusOr<bool> AreEquivalent(const Sharding& a, const Sharding& b, int rank);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_SHARDING_H_
