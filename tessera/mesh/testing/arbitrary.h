// Random meshes, specs and shapes for property tests.  Call inside a rapidcheck property.
#ifndef TESSERA_MESH_TESTING_ARBITRARY_H_
#define TESSERA_MESH_TESTING_ARBITRARY_H_

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::mesh::testing {

template <typename T>
void Shuffle(std::vector<T>& items) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[*rc::gen::inRange<size_t>(0, i)]);
  }
}

// One to four axes of sizes 1 to 4, devices in any order.
inline Mesh ArbitraryMesh() {
  std::vector<std::string> names = {"dp", "fsdp", "tp", "sp"};
  Shuffle(names);
  const int rank = *rc::gen::inRange(1, 5);
  std::vector<Axis> axes;
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    axes.push_back({names[i], *rc::gen::inRange<int64_t>(1, 5)});
    count *= axes.back().size;
  }
  std::vector<Device> devices(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) devices[static_cast<size_t>(i)].id = i;
  Shuffle(devices);
  return *Mesh::Make(std::move(axes), std::move(devices));
}

// A spec for at most `rank` dimensions that uses each axis of the mesh at most once.
inline PartitionSpec ArbitrarySpec(const Mesh& mesh, int rank) {
  std::vector<std::vector<std::string>> entries(*rc::gen::inRange<size_t>(0, rank + 1));
  std::vector<std::string> names;
  for (const Axis& axis : mesh.axes()) names.push_back(axis.name);
  Shuffle(names);
  for (const std::string& name : names) {
    const size_t where = *rc::gen::inRange<size_t>(0, entries.size() + 1);
    if (where < entries.size()) entries[where].push_back(name);
  }
  std::vector<SpecEntry> result;
  for (auto& axes : entries) result.emplace_back(std::move(axes));
  return PartitionSpec(std::move(result));
}

// A shape of this rank that the spec divides.
inline Dims ArbitraryShapeFor(const Mesh& mesh, const PartitionSpec& spec, int rank) {
  Dims shape;
  for (int d = 0; d < rank; ++d) {
    int64_t size = *rc::gen::inRange<int64_t>(0, 3);
    if (d < spec.size()) {
      for (const std::string& axis : spec[d].axes()) size *= mesh.axes()[*mesh.FindAxis(axis)].size;
    }
    shape.push_back(size);
  }
  return shape;
}

}  // namespace tessera::mesh::testing

#endif  // TESSERA_MESH_TESTING_ARBITRARY_H_
