#include "tessera/array/value.h"

#include <utility>

namespace tessera::array {

Opaque MakeScalar(tree::Scalar scalar) {
  const bool text = std::holds_alternative<std::string>(scalar);
  return {.kind = text ? mesh::LeafKind::kOther : mesh::LeafKind::kNumber,
          .type_name = std::string(tree::ScalarTypeName(scalar)),
          .scalar = std::move(scalar)};
}

mesh::LeafInfo DescribeLeaf(const Opaque& value) {
  return {.kind = value.kind, .type_name = value.type_name};
}

mesh::LeafInfo DescribeLeaf(const Value& value) {
  return std::visit([](const auto& held) { return DescribeLeaf(held); }, value);
}

}  // namespace tessera::array
