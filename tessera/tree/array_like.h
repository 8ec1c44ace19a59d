// Tells whether a value describes an array: whether it has a shape and a dtype.
//
// A descriptor without data is array-like, too; whether there is data is another question.
#ifndef TESSERA_TREE_ARRAY_LIKE_H_
#define TESSERA_TREE_ARRAY_LIKE_H_

#include <variant>

#include "tessera/tree/tree.h"

namespace tessera::tree {

namespace tree_internal {

template <typename T>
concept HasShapeAndDtypeFunctions = requires(const T& value) {
  value.shape();
  value.dtype();
};
template <typename T>
concept HasShapeAndDtypeMembers = requires(const T& value) {
  value.shape;
  value.dtype;
};

// Pointers, smart pointers and optionals.
template <typename T>
concept Nullable = requires(const T& value) {
  static_cast<bool>(value);
  *value;
};

template <typename T>
inline constexpr bool kIsVariant = false;
template <typename... Ts>
inline constexpr bool kIsVariant<std::variant<Ts...>> = true;

}  // namespace tree_internal

// A type with shape and dtype, be they members or member functions.
template <typename T>
concept ArrayLike =
    tree_internal::HasShapeAndDtypeFunctions<T> || tree_internal::HasShapeAndDtypeMembers<T>;

// Looks through pointers, optionals and variants; what is absent is not array-like.
template <typename T>
bool IsArrayLike(const T& value) {
  if constexpr (ArrayLike<T>) {
    return true;
  } else if constexpr (tree_internal::kIsVariant<T>) {
    return std::visit([](const auto& held) { return IsArrayLike(held); }, value);
  } else if constexpr (tree_internal::Nullable<T>) {
    return static_cast<bool>(value) && IsArrayLike(*value);
  } else {
    return false;
  }
}

// None and containers are not array-like.
template <typename T>
bool IsArrayLike(const Tree<T>& node) {
  return node.is_leaf() && IsArrayLike(node.leaf());
}

}  // namespace tessera::tree

#endif  // TESSERA_TREE_ARRAY_LIKE_H_
