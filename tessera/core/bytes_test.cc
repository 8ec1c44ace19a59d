#include "tessera/core/bytes.h"

#include <gtest/gtest.h>

#include <memory>

namespace tessera {
namespace {

TEST(BytesTest, ASliceKeepsTheWholeAlive) {
  Bytes slice;
  {
    const Bytes whole = Bytes::CopyOf("checkpoint");
    slice = whole.Slice(5, 5);
    EXPECT_EQ(slice.data(), whole.data() + 5);
  }
  EXPECT_EQ(slice.text(), "point");
}

TEST(BytesTest, TakeDoesNotCopy) {
  std::vector<std::byte> data(100);
  const std::byte* address = data.data();
  EXPECT_EQ(Bytes::Take(std::move(data)).data(), address);
}

TEST(BytesTest, BorrowHoldsItsOwner) {
  auto owner = std::make_shared<std::vector<std::byte>>(3);
  const std::weak_ptr<std::vector<std::byte>> alive = owner;
  {
    const Bytes bytes = Bytes::Borrow(*owner, owner);
    owner.reset();
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(BytesTest, EqualityLooksAtContents) {
  EXPECT_EQ(Bytes::CopyOf("abc"), Bytes::CopyOf("xabc").Slice(1, 3));
  EXPECT_FALSE(Bytes::CopyOf("abc") == Bytes::CopyOf("abd"));
  EXPECT_EQ(Bytes(), Bytes::CopyOf(""));
}

}  // namespace
}  // namespace tessera
