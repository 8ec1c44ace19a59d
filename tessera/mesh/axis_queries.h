// Questions about a mesh's axes, under the seeds' names.  Each takes an explicit mesh, which wins,
// or uses the one in scope (mesh_scope.h).
#ifndef TESSERA_MESH_AXIS_QUERIES_H_
#define TESSERA_MESH_AXIS_QUERIES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/mesh_scope.h"

namespace tessera::mesh {

// One axis name or a list of them, as the seeds' functions take either; hence implicit.
class AxisNames {
 public:
  AxisNames(const char* name) : names_{name} {}
  AxisNames(std::string name) : names_{std::move(name)} {}
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}
  AxisNames(std::initializer_list<const char*> names) : names_(names.begin(), names.end()) {}

  std::span<const std::string> names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// Axis names in mesh order.  No mesh: kind no_mesh.
absl::StatusOr<std::vector<std::string>> GetMeshAxisNames(
    const std::optional<Mesh>& mesh = std::nullopt);

// The product of the sizes of the named axes: 1 for none; a repeated name counts twice.
// NotFound for a name that the mesh lacks; no mesh: kind no_mesh.
absl::StatusOr<int64_t> GetAxesSizeInMesh(const AxisNames& axes,
                                          const std::optional<Mesh>& mesh = std::nullopt);

// The same, with the mesh of the current device where the call stands in a per-device region.
absl::StatusOr<int64_t> GetMeshAxisSize(const AxisNames& axes,
                                        const std::optional<Mesh>& mesh = std::nullopt);

// Are all names axes of the mesh in scope?  True for no names, with or without a mesh.
bool NamesInCurrentMesh(std::span<const std::string> names);

// The linear index of a device within the named axes, first most significant; 0 for none.  The
// device is `region`, else that of the per-device region.  NotFound for an unknown axis; kind
// duplicate_axis for a repeated one; kind no_mesh outside a region when none is given.
absl::StatusOr<int64_t> GetSubmeshDeviceIndex(
    const AxisNames& axes, const std::optional<DeviceRegion>& region = std::nullopt);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_AXIS_QUERIES_H_
