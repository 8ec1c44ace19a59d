// Value: what stands at the leaves of a model's state.
#ifndef TESSERA_ARRAY_VALUE_H_
#define TESSERA_ARRAY_VALUE_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "tessera/array/host_array.h"
#include "tessera/array/sharded_array.h"
#include "tessera/mesh/leaf.h"
#include "tessera/tree/scalar.h"
#include "tessera/tree/tree.h"

namespace tessera::array {

// Anything that is no array.  The functions over trees hand it on as it is.
struct Opaque {
  std::shared_ptr<const void> value = nullptr;
  mesh::LeafKind kind = mesh::LeafKind::kOther;
  std::string type_name = {};  // for messages
  // Set where the value is a plain one, which a checkpoint can keep.
  std::optional<tree::Scalar> scalar = {};
};

// A number or text as a leaf.
Opaque MakeScalar(tree::Scalar scalar);

using Value = std::variant<ShardedArray, HostArray, Opaque>;
using ValueTree = tree::Tree<Value>;

// For the functions over trees.
mesh::LeafInfo DescribeLeaf(const Opaque& value);
mesh::LeafInfo DescribeLeaf(const Value& value);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_VALUE_H_
