#include "tessera/core/hash128.h"

#include <string>

#include "gtest/gtest.h"
#include "tessera/core/testing/status_matchers.h"

namespace tessera {
namespace {

using ::tessera::testing::IsOkAndHolds;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Hash128Test, IsThatOfTheXxh3Specification) {
  // Of nothing, with seed 0: the published test vector.
  EXPECT_EQ(HashOf(std::string_view()).Hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash128Test, PiecesGiveTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += static_cast<char>(i * 7 + i / 251);
  Hasher128 hasher;
  const auto bytes = std::as_bytes(std::span(text));
  for (size_t at = 0, size = 1; at < bytes.size(); at += size, size = size * 3 % 1013 + 1) {
    hasher.Update(bytes.subspan(at, std::min(size, bytes.size() - at)));
    size = std::min(size, bytes.size() - at);
  }
  EXPECT_EQ(hasher.Finish(), HashOf(text));
}

TEST(Hash128Test, HexComesBack) {
  const Hash128 hash = HashOf("tessera");
  EXPECT_THAT(Hash128::FromHex(hash.Hex()), IsOkAndHolds(hash));
}

TEST(Hash128Test, RefusesWhatIsNoHex) {
  EXPECT_THAT(Hash128::FromHex("12"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 characters")));
  std::string upper = HashOf("x").Hex();
  upper[5] = 'A';
  EXPECT_THAT(Hash128::FromHex(upper),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("character 5")));
}

}  // namespace
}  // namespace tessera
