#include "tessera/tree/array_like.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/core/dtype.h"

namespace tessera::tree {
namespace {

struct Array {
  std::vector<int64_t> shape() const { return {2}; }
  DType dtype() const { return DType::kFloat32; }
};

struct Descriptor {
  std::vector<int64_t> shape;
  DType dtype = DType::kFloat32;
};

struct OnlyShape {
  std::vector<int64_t> shape;
};

using Value =
    std::variant<std::monostate, int64_t, std::string, Array, std::shared_ptr<Descriptor>>;

TEST(ArrayLikeTest, NeedsShapeAndDtype) {
  EXPECT_TRUE(IsArrayLike(Array{}));
  EXPECT_TRUE(IsArrayLike(Descriptor{}));
  EXPECT_FALSE(IsArrayLike(OnlyShape{}));
  EXPECT_FALSE(IsArrayLike(123));
  EXPECT_FALSE(IsArrayLike(std::string("text")));
  EXPECT_FALSE(IsArrayLike(std::vector<int>{1}));
  static_assert(ArrayLike<Array> && ArrayLike<Descriptor> && !ArrayLike<OnlyShape>);
}

TEST(ArrayLikeTest, LooksThroughVariantsPointersAndOptionals) {
  EXPECT_TRUE(IsArrayLike(Value(Array{})));
  EXPECT_FALSE(IsArrayLike(Value(int64_t{3})));
  EXPECT_FALSE(IsArrayLike(Value()));
  EXPECT_TRUE(IsArrayLike(Value(std::make_shared<Descriptor>())));
  EXPECT_FALSE(IsArrayLike(Value(std::shared_ptr<Descriptor>())));
  EXPECT_TRUE(IsArrayLike(std::optional<Value>(Array{})));
  EXPECT_FALSE(IsArrayLike(std::optional<Array>()));
  EXPECT_TRUE(IsArrayLike(std::make_unique<Array>()));
}

TEST(ArrayLikeTest, OfANodeAsksTheLeaf) {
  EXPECT_TRUE(IsArrayLike(Tree<Value>(Array{})));
  EXPECT_FALSE(IsArrayLike(Tree<Value>(int64_t{3})));
  EXPECT_FALSE(IsArrayLike(Tree<Value>::None()));
  EXPECT_FALSE(IsArrayLike(Tree<Array>::List({Array{}})));
}

}  // namespace
}  // namespace tessera::tree
