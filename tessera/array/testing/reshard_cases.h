// Random reshardings for tests, the same on every rank.
#ifndef TESSERA_ARRAY_TESTING_RESHARD_CASES_H_
#define TESSERA_ARRAY_TESTING_RESHARD_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/shape.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array::testing {

// Every case takes its devices from 0, 1, ... below this.
inline constexpr int64_t kCaseDevices = 24;

struct ReshardCase {
  uint64_t seed = 0;
  ShapeDtype array;
  mesh::Sharding from;
  mesh::Sharding to;
  int64_t budget_bytes = 0;
  // Which process each of the kCaseDevices devices belongs to.
  std::vector<int> process_of;

  // For messages of a failed test.
  std::string Text() const;
};

// A pure function of its arguments.  Arrays of rank 0 to 4 and any dtype, also without elements;
// meshes of one to three axes on any of the devices; single devices; budgets down to the least.
// Devices belong to processes 0 to ranks - 1.
ReshardCase MakeReshardCase(uint64_t seed, int ranks);

}  // namespace tessera::array::testing

#endif  // TESSERA_ARRAY_TESTING_RESHARD_CASES_H_
