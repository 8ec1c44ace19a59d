// Fits one spec to arrays of several shapes and shows what had to change, and why.
#include <cstdio>
#include <string>

#include "tessera/core/status.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/mesh_scope.h"

namespace {

using tessera::Dims;
using tessera::mesh::Mesh;
using tessera::mesh::MeshScope;
using tessera::mesh::PartitionSpec;

absl::Status Run() {
  TESSERA_ASSIGN_OR_RETURN(const Mesh mesh, tessera::mesh::ParseMesh("dp=2,tp=4"));
  const MeshScope scope(mesh);  // the mesh for all calls below
  const PartitionSpec spec{"tp", {"dp", "sp"}};
  for (const Dims& shape : {Dims{8, 16}, Dims{6, 16}, Dims{8}, Dims{}}) {
    TESSERA_ASSIGN_OR_RETURN(const auto fitted,
                             tessera::mesh::GetCorrectedNamedSharding(shape, spec));
    std::printf("%s on %s becomes %s\n", spec.Text().c_str(), tessera::ShapeText(shape).c_str(),
                fitted.sharding.spec().Text().c_str());
    for (const auto& correction : fitted.corrections) {
      std::printf("  %s\n", correction.Text().c_str());
    }
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}
