// The tree that the tests of checkpoints under mpirun save, on a mesh over all ranks.
#ifndef TESSERA_TESTS_MPI_CHECKPOINT_TREE_H_
#define TESSERA_TESTS_MPI_CHECKPOINT_TREE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/comm/comm.h"
#include "tessera/device/device.h"
#include "tessera/mesh/mesh.h"

namespace tessera::mpi {

// Axes x and y; device d belongs to rank d.
mesh::Mesh MeshOver(int64_t x, int64_t y);
std::unique_ptr<device::Platform> PlatformOf(int rank);

// Arrays that are split both ways, one way and not at all, with numbers that tell generations
// apart.
absl::StatusOr<array::ValueTree> TreeOn(const mesh::Mesh& mesh, device::Platform& platform,
                                        int generation);

// Dtype, shape and hash of every array by its name, the same on every rank.  Collective.
using Hashes = std::map<std::string, std::string>;
absl::StatusOr<Hashes> HashesOf(const array::ValueTree& tree, const device::Platform& platform,
                                comm::Comm& comm);

}  // namespace tessera::mpi

#endif  // TESSERA_TESTS_MPI_CHECKPOINT_TREE_H_
