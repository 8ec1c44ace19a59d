#include "tessera/mesh/mesh_scope.h"

#include <utility>
#include <vector>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"

namespace tessera::mesh {
namespace {

thread_local std::vector<Mesh> mesh_stack;
thread_local std::vector<DeviceRegion> region_stack;

struct ProcessMesh {
  Mutex mutex;
  Mesh mesh ABSL_GUARDED_BY(mutex);
};

ProcessMesh& TheProcessMesh() {
  static ProcessMesh& process_mesh = *new ProcessMesh;
  return process_mesh;
}

Mesh CurrentMesh() {
  if (!mesh_stack.empty()) return mesh_stack.back();
  ProcessMesh& process = TheProcessMesh();
  MutexLock lock(process.mutex);
  return process.mesh;
}

absl::Status NoMesh(const char* caller) {
  return WithKind(FailedPrecondition(caller,
                                     ": no mesh was given and none is in scope; pass one, "
                                     "or call inside a MeshScope"),
                  ErrorKind::kNoMesh);
}

}  // namespace

MeshScope::MeshScope(Mesh mesh) { mesh_stack.push_back(std::move(mesh)); }
MeshScope::~MeshScope() { mesh_stack.pop_back(); }

void SetProcessMesh(Mesh mesh) {
  ProcessMesh& process = TheProcessMesh();
  MutexLock lock(process.mutex);
  process.mesh = std::move(mesh);
}

absl::StatusOr<Mesh> GetIncontextMesh(bool raise_error) {
  Mesh mesh = CurrentMesh();
  if (mesh.empty() && raise_error) return NoMesh("get_incontext_mesh");
  return mesh;
}

absl::StatusOr<Mesh> MeshOrContext(const std::optional<Mesh>& mesh, const char* caller) {
  if (mesh.has_value()) return *mesh;
  Mesh current = CurrentMesh();
  if (current.empty()) return NoMesh(caller);
  return current;
}

absl::StatusOr<DeviceRegion> RegionOf(Mesh mesh, int64_t device_id) {
  const auto position = mesh.FindDevice(device_id);
  if (!position.has_value()) return NotFound("device ", device_id, " is not on ", mesh.Text());
  return DeviceRegion{std::move(mesh), *position};
}

DeviceScope::DeviceScope(DeviceRegion region) : mesh_scope_(region.mesh) {
  region_stack.push_back(std::move(region));
}
DeviceScope::~DeviceScope() { region_stack.pop_back(); }

std::optional<DeviceRegion> CurrentDeviceRegion() {
  if (region_stack.empty()) return std::nullopt;
  return region_stack.back();
}

absl::Status ForEachDevice(const Mesh& mesh,
                           const std::function<absl::Status(const Device&)>& body) {
  if (mesh.empty()) return NoMesh("for_each_device");
  for (int64_t i = 0; i < mesh.size(); ++i) {
    const DeviceScope scope({mesh, i});
    TESSERA_RETURN_IF_ERROR(body(mesh.devices()[i]));
  }
  return absl::OkStatus();
}

}  // namespace tessera::mesh
