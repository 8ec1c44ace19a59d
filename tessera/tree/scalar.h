// Scalar: a plain value at a leaf that is no array.
#ifndef TESSERA_TREE_SCALAR_H_
#define TESSERA_TREE_SCALAR_H_

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace tessera::tree {

// Python's bool, int (as far as 64 bits go), float, complex and str.
using Scalar = std::variant<bool, int64_t, double, std::complex<double>, std::string>;

// "bool", "int", "float", "complex", "str".
inline std::string_view ScalarTypeName(const Scalar& scalar) {
  static constexpr std::string_view kNames[] = {"bool", "int", "float", "complex", "str"};
  return kNames[scalar.index()];
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_SCALAR_H_
