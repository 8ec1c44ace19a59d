// What the functions over trees need to know of a leaf, whatever its C++ type.
//
// A type takes part by offering, in its own namespace, `LeafInfo DescribeLeaf(const T&)`.
#ifndef TESSERA_MESH_LEAF_H_
#define TESSERA_MESH_LEAF_H_

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"

namespace tessera::mesh {

enum class LeafKind {
  kArray,       // on devices
  kHostArray,   // in host memory
  kDescriptor,  // shape and dtype without data
  kNumber,      // bool, integer, float, complex
  kOther,
};

// How a leaf says it is placed: not at all, by a bare spec, or by a sharding.
using LeafSharding =
    std::variant<std::monostate, PartitionSpec, NamedSharding, SingleDeviceSharding>;

struct LeafInfo {
  LeafKind kind = LeafKind::kOther;
  std::optional<ShapeDtype> array = {};  // nullopt for numbers and others
  LeafSharding sharding = {};
  std::string type_name = {};  // for messages
};

inline const LeafInfo& DescribeLeaf(const LeafInfo& info) { return info; }

inline LeafInfo DescribeLeaf(const ShapeDtype& array) {
  return {LeafKind::kDescriptor, array, {}, "descriptor"};
}

template <typename T>
requires std::is_arithmetic_v<T> LeafInfo DescribeLeaf(const T&) {
  return {.kind = LeafKind::kNumber, .type_name = "number"};
}

inline LeafInfo DescribeLeaf(const std::string&) { return {.type_name = "text"}; }

template <typename T>
concept Describable = requires(const T& value) {
  { DescribeLeaf(value) } -> std::convertible_to<LeafInfo>;
};

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_LEAF_H_
