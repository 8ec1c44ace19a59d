// Meshes of eight devices that tests use.
#ifndef TESSERA_MESH_TESTING_MESHES_H_
#define TESSERA_MESH_TESTING_MESHES_H_

#include "tessera/mesh/mesh.h"

namespace tessera::mesh::testing {

inline Mesh M24() { return *Mesh::MakeHost({{"dp", 2}, {"tp", 4}}); }
inline Mesh M18() { return *Mesh::MakeHost({{"dp", 1}, {"tp", 8}}); }

}  // namespace tessera::mesh::testing

#endif  // TESSERA_MESH_TESTING_MESHES_H_
