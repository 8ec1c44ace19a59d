// The mesh and the device that are current on a thread: the seeds' `with mesh:`.
#ifndef TESSERA_MESH_MESH_SCOPE_H_
#define TESSERA_MESH_MESH_SCOPE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/mesh/mesh.h"

namespace tessera::mesh {

// Makes a mesh current on this thread until destroyed.  Scopes nest: the inner mesh hides the
// outer one entirely, and the empty mesh counts as none.  Destroy in reverse order of making.
class MeshScope {
 public:
  explicit MeshScope(Mesh mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;
};

// The mesh for threads that are in no MeshScope; the empty mesh takes it away again.
void SetProcessMesh(Mesh mesh);

// The innermost mesh of this thread, else the process's.  Where there is none: FailedPrecondition
// of kind no_mesh, or the empty mesh when `raise_error` is false.
absl::StatusOr<Mesh> GetIncontextMesh(bool raise_error = true);

// `mesh` if given, else GetIncontextMesh(); the error says that `caller` needed it.
absl::StatusOr<Mesh> MeshOrContext(const std::optional<Mesh>& mesh, const char* caller);

// A place on a mesh: what code that runs for one device calls the current device.
struct DeviceRegion {
  Mesh mesh;
  int64_t position = 0;  // of the device in mesh.devices()
};

// NotFound when the mesh lacks the device.
absl::StatusOr<DeviceRegion> RegionOf(Mesh mesh, int64_t device_id);

// The code inside runs for one device: the per-device region.  Its mesh is current, too.
class DeviceScope {
 public:
  explicit DeviceScope(DeviceRegion region);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  MeshScope mesh_scope_;
};

// The innermost region this thread is in.
std::optional<DeviceRegion> CurrentDeviceRegion();

// Calls body(device) once for each device of `mesh`, in order, inside its region; stops at the
// first error.  FailedPrecondition of kind no_mesh on the empty mesh.
absl::Status ForEachDevice(const Mesh& mesh,
                           const std::function<absl::Status(const Device&)>& body);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_MESH_SCOPE_H_
