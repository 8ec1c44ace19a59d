#include "tessera/mesh/axis_queries.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::mesh {
namespace {

// The axis called `name`; NotFound lists the ones there are.
absl::StatusOr<int> AxisCalled(const Mesh& mesh, const std::string& name) {
  if (const auto axis = mesh.FindAxis(name); axis.has_value()) return *axis;
  std::string known;
  for (const Axis& axis : mesh.axes()) known += Concat(known.empty() ? "" : ", ", axis.name);
  return NotFound("the mesh has no axis '", name, "'; its axes are ",
                  known.empty() ? "none" : known);
}

absl::StatusOr<int64_t> ProductOfSizes(const Mesh& mesh, const AxisNames& axes) {
  int64_t product = 1;
  for (const std::string& name : axes.names()) {
    TESSERA_ASSIGN_OR_RETURN(const int axis, AxisCalled(mesh, name));
    TESSERA_ASSIGN_OR_RETURN(product, CheckedProduct(product, mesh.axes()[axis].size));
  }
  return product;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GetMeshAxisNames(const std::optional<Mesh>& mesh) {
  TESSERA_ASSIGN_OR_RETURN(const Mesh chosen, MeshOrContext(mesh, "get_mesh_axis_names"));
  std::vector<std::string> names;
  for (const Axis& axis : chosen.axes()) names.push_back(axis.name);
  return names;
}

absl::StatusOr<int64_t> GetAxesSizeInMesh(const AxisNames& axes, const std::optional<Mesh>& mesh) {
  TESSERA_ASSIGN_OR_RETURN(const Mesh chosen, MeshOrContext(mesh, "get_axes_size_in_mesh"));
  return ProductOfSizes(chosen, axes);
}

absl::StatusOr<int64_t> GetMeshAxisSize(const AxisNames& axes, const std::optional<Mesh>& mesh) {
  if (!mesh.has_value()) {
    if (const auto region = CurrentDeviceRegion(); region.has_value()) {
      return ProductOfSizes(region->mesh, axes);
    }
  }
  TESSERA_ASSIGN_OR_RETURN(const Mesh chosen, MeshOrContext(mesh, "get_mesh_axis_size"));
  return ProductOfSizes(chosen, axes);
}

bool NamesInCurrentMesh(std::span<const std::string> names) {
  const Mesh mesh = *GetIncontextMesh(/*raise_error=*/false);
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return mesh.FindAxis(name).has_value(); });
}

absl::StatusOr<int64_t> GetSubmeshDeviceIndex(const AxisNames& axes,
                                              const std::optional<DeviceRegion>& region) {
  const auto chosen = region.has_value() ? region : CurrentDeviceRegion();
  if (!chosen.has_value()) {
    return WithKind(FailedPrecondition("get_submesh_device_index: no device was given and the call "
                                       "stands in no per-device region; pass one, or call inside "
                                       "ForEachDevice or a DeviceScope"),
                    ErrorKind::kNoMesh);
  }
  const Dims coordinate = chosen->mesh.CoordinateOf(chosen->position);
  std::vector<int> seen;
  int64_t index = 0;
  for (const std::string& name : axes.names()) {
    TESSERA_ASSIGN_OR_RETURN(const int axis, AxisCalled(chosen->mesh, name));
    if (std::find(seen.begin(), seen.end(), axis) != seen.end()) {
      return WithKind(InvalidArgument("the axis '", name, "' is named twice"),
                      ErrorKind::kDuplicateAxis);
    }
    seen.push_back(axis);
    index = index * chosen->mesh.axes()[axis].size + coordinate[axis];
  }
  return index;
}

}  // namespace tessera::mesh
