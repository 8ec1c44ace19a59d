// The values that recorded cases are written in.
#ifndef TESSERA_TESTS_VECTORS_CASE_VALUES_H_
#define TESSERA_TESTS_VECTORS_CASE_VALUES_H_

#include "tessera/core/json.h"

#include <nlohmann/json.hpp>
#include "tessera/core/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::vectors {

inline Dims ShapeOf(const OrderedJson& value) { return ShapeFromJson(value, "shape").value(); }

inline mesh::PartitionSpec SpecOf(const OrderedJson& value) {
  return mesh::PartitionSpecFromJson(Json(value), "spec").value();
}

// {"axes": [...], "sizes": [...], "device_ids": [...]}
inline absl::StatusOr<mesh::Mesh> MeshOf(const OrderedJson& value) {
  std::vector<mesh::Axis> axes;
  for (size_t i = 0; i < value["axes"].size(); ++i) {
    axes.push_back({value["axes"][i].get<std::string>(), value["sizes"][i].get<int64_t>()});
  }
  std::vector<mesh::Device> devices;
  for (const OrderedJson& id : value["device_ids"]) devices.push_back({.id = id.get<int64_t>()});
  return mesh::Mesh::Make(std::move(axes), std::move(devices));
}

}  // namespace tessera::vectors

#endif  // TESSERA_TESTS_VECTORS_CASE_VALUES_H_
