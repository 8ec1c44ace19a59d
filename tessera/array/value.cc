#include "tessera/array/value.h"

namespace tessera::array {

mesh::LeafInfo DescribeLeaf(const Opaque& value) {
  return {.kind = value.kind, .type_name = value.type_name};
}

mesh::LeafInfo DescribeLeaf(const Value& value) {
  return std::visit([](const auto& held) { return DescribeLeaf(held); }, value);
}

}  // namespace tessera::array
