#include "tessera/mesh/sharding.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tessera/core/status.h"

namespace tessera::mesh {
namespace {

// The grid axes that split one dimension, major to minor, without those of size 1.
using DimensionAxes = std::vector<int>;

std::vector<DimensionAxes> SplittingAxes(const NamedSharding& sharding) {
  std::vector<DimensionAxes> result;
  const Mesh& mesh = sharding.mesh();
  for (const SpecEntry& entry : sharding.spec().entries()) {
    DimensionAxes axes;
    for (const std::string& name : entry.axes()) {
      const int axis = mesh.FindAxis(name).value();
      if (mesh.axes()[axis].size > 1) axes.push_back(axis);
    }
    result.push_back(std::move(axes));
  }
  return result;
}

// The block number of a device along a dimension: its coordinates as digits, first most
// significant.
int64_t BlockOf(const Mesh& mesh, const DimensionAxes& axes, const Dims& coordinate) {
  int64_t block = 0;
  for (int axis : axes) block = block * mesh.axes()[axis].size + coordinate[axis];
  return block;
}

absl::Status CheckRank(const NamedSharding& sharding, int rank) {
  if (sharding.spec().size() <= rank) return absl::OkStatus();
  return InvalidArgument(sharding.Text(), ": the spec has ", sharding.spec().size(),
                         " entries, but the array has rank ", rank,
                         rank == 0 ? "; a scalar takes P()" : "");
}

std::string AxisList(const Mesh& mesh) {
  std::string text;
  for (const Axis& axis : mesh.axes()) text += Concat(text.empty() ? "" : ", ", axis.name);
  return text.empty() ? "none" : text;
}

Box ShardBox(const NamedSharding& sharding, const std::vector<DimensionAxes>& axes,
             const Dims& shard_shape, int64_t position) {
  const Dims coordinate = sharding.mesh().CoordinateOf(position);
  Dims origin(shard_shape.size(), 0);
  for (size_t d = 0; d < axes.size(); ++d) {
    origin[d] = BlockOf(sharding.mesh(), axes[d], coordinate) * shard_shape[d];
  }
  return *Box::Make(origin, shard_shape);
}

absl::StatusOr<std::vector<DeviceShard>> PlaceNamed(const NamedSharding& sharding, DimsView shape) {
  if (sharding.mesh().empty()) {
    return WithKind(FailedPrecondition("nothing can be placed on the empty mesh"),
                    ErrorKind::kNoMesh);
  }
  TESSERA_ASSIGN_OR_RETURN(const Dims shard_shape, ShardShape(sharding, shape));
  const std::vector<DimensionAxes> axes = SplittingAxes(sharding);
  std::vector<DeviceShard> shards;
  shards.reserve(static_cast<size_t>(sharding.mesh().size()));
  absl::flat_hash_map<Dims, int64_t> copies;  // by origin: all boxes have one shape
  for (int64_t i = 0; i < sharding.mesh().size(); ++i) {
    Box box = ShardBox(sharding, axes, shard_shape, i);
    const int64_t replica_id = copies[box.origin()]++;
    shards.push_back({sharding.mesh().devices()[i], std::move(box), replica_id});
  }
  return shards;
}

}  // namespace

absl::StatusOr<NamedSharding> NamedSharding::Make(Mesh mesh, PartitionSpec spec,
                                                  std::string memory_kind) {
  absl::flat_hash_set<std::string> used;
  for (const SpecEntry& entry : spec.entries()) {
    for (const std::string& axis : entry.axes()) {
      if (!mesh.FindAxis(axis).has_value()) {
        return InvalidArgument("spec ", spec.Text(), ": the mesh has no axis '", axis,
                               "'; its axes are ", AxisList(mesh));
      }
      if (!used.insert(axis).second) {
        return WithKind(
            InvalidArgument("spec ", spec.Text(), ": the axis '", axis, "' is used twice"),
            ErrorKind::kDuplicateAxis);
      }
    }
  }
  return NamedSharding(std::move(mesh), std::move(spec), std::move(memory_kind));
}

NamedSharding NamedSharding::Replicated(Mesh mesh) {
  return {std::move(mesh), PartitionSpec(), ""};
}

std::string NamedSharding::Text() const {
  return Concat("NS(", mesh_.Text(), ", ", spec_.Text(), ")");
}

std::string ShardingText(const Sharding& sharding) {
  if (const auto* named = std::get_if<NamedSharding>(&sharding)) return named->Text();
  return Concat("SDS(", std::get<SingleDeviceSharding>(sharding).device.id, ")");
}

absl::StatusOr<Dims> SplitFactors(const Sharding& sharding, int rank) {
  Dims factors(static_cast<size_t>(rank), 1);
  const auto* named = std::get_if<NamedSharding>(&sharding);
  if (named == nullptr) return factors;
  TESSERA_RETURN_IF_ERROR(CheckRank(*named, rank));
  for (int d = 0; d < named->spec().size(); ++d) {
    if (named->spec()[d].unconstrained()) {
      return Unimplemented(named->Text(), ": dimension ", d, " is unconstrained");
    }
  }
  const std::vector<DimensionAxes> axes = SplittingAxes(*named);
  for (size_t d = 0; d < axes.size(); ++d) {
    for (int axis : axes[d]) factors[d] *= named->mesh().axes()[axis].size;
  }
  return factors;
}

absl::StatusOr<Dims> ShardShape(const Sharding& sharding, DimsView shape) {
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  TESSERA_ASSIGN_OR_RETURN(const Dims factors,
                           SplitFactors(sharding, static_cast<int>(shape.size())));
  Dims result(shape.begin(), shape.end());
  for (size_t d = 0; d < factors.size(); ++d) {
    if (shape[d] % factors[d] != 0) {
      return WithKind(InvalidArgument("shape ", ShapeText(shape), ": dimension ", d, " of size ",
                                      shape[d], " does not split evenly by ", factors[d], " under ",
                                      ShardingText(sharding)),
                      ErrorKind::kIndivisible);
    }
    result[d] = shape[d] / factors[d];
  }
  return result;
}

absl::StatusOr<std::vector<DeviceShard>> PlaceShards(const Sharding& sharding, DimsView shape) {
  if (const auto* named = std::get_if<NamedSharding>(&sharding)) return PlaceNamed(*named, shape);
  TESSERA_RETURN_IF_ERROR(ValidateShape(shape));
  const Device device = std::get<SingleDeviceSharding>(sharding).device;
  return std::vector<DeviceShard>{{device, Box::Whole(shape), 0}};
}

std::vector<Device> DevicesOf(const Sharding& sharding) {
  if (const auto* named = std::get_if<NamedSharding>(&sharding)) {
    return {named->mesh().devices().begin(), named->mesh().devices().end()};
  }
  return {std::get<SingleDeviceSharding>(sharding).device};
}

std::vector<Device> AddressableDevices(const Sharding& sharding, int process) {
  std::vector<Device> devices = DevicesOf(sharding);
  std::erase_if(devices, [&](const Device& device) { return device.process != process; });
  return devices;
}

bool IsFullyReplicated(const Sharding& sharding) {
  const auto* named = std::get_if<NamedSharding>(&sharding);
  if (named == nullptr) return true;
  const auto axes = SplittingAxes(*named);
  return std::all_of(axes.begin(), axes.end(), [](const auto& d) { return d.empty(); });
}

bool IsFullyAddressable(const Sharding& sharding, int process) {
  const std::vector<Device> devices = DevicesOf(sharding);
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Device& device) { return device.process == process; }) &&
         AddressableDevices(sharding, process).size() == devices.size();
}

absl::StatusOr<bool> AreEquivalent(const Sharding& a, const Sharding& b, int rank) {
  TESSERA_ASSIGN_OR_RETURN(const Dims factors_a, SplitFactors(a, rank));
  TESSERA_ASSIGN_OR_RETURN(const Dims factors_b, SplitFactors(b, rank));
  if (factors_a != factors_b || DevicesOf(a) != DevicesOf(b)) return false;
  // Both split an array of this shape evenly, so boxes of one such array decide for all.
  TESSERA_ASSIGN_OR_RETURN(const auto shards_a, PlaceShards(a, factors_a));
  TESSERA_ASSIGN_OR_RETURN(const auto shards_b, PlaceShards(b, factors_a));
  return shards_a == shards_b;
}

}  // namespace tessera::mesh
