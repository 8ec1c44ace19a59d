#include "tessera/core/sha256.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Sha256Test, GivesTheDigestsOfFips180) {
  EXPECT_EQ(Sha256Text({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Text(BytesOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, TakesDataInPieces) {
  const std::string data(1000, 'x');
  for (const size_t cut : {0, 1, 63, 64, 65, 999, 1000}) {
    Sha256 hash;
    hash.Update(BytesOf(data).first(cut));
    hash.Update(BytesOf(data).subspan(cut));
    EXPECT_EQ(HexText(hash.Finish()), Sha256Text(BytesOf(data))) << cut;
  }
}

}  // namespace
}  // namespace tessera
