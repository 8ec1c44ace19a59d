#include "tessera/comm/piece_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tessera::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::span<const std::byte> Piece(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::string> Taken(PieceStream<const std::byte>& stream, int64_t block_bytes) {
  std::vector<std::string> parts;
  stream.Take(block_bytes, [&](std::span<const std::byte> part) {
    parts.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  });
  return parts;
}

TEST(PieceStreamTest, ABlockTakesFromAsManyPiecesAsItNeeds) {
  PieceStream<const std::byte> stream;
  for (const std::string_view text : {"abc", "", "d", "efghij"}) stream.Add(Piece(text));
  EXPECT_EQ(stream.left(), 10);
  EXPECT_THAT(Taken(stream, 2), ElementsAre("ab"));
  EXPECT_THAT(Taken(stream, 4), ElementsAre("c", "d", "ef"));
  EXPECT_EQ(stream.left(), 4);
  EXPECT_THAT(Taken(stream, 100), ElementsAre("ghij"));
  EXPECT_EQ(stream.left(), 0);
}

TEST(PieceStreamTest, OfNothingNothingIsTaken) {
  PieceStream<const std::byte> stream;
  stream.Add({});
  EXPECT_EQ(stream.left(), 0);
  EXPECT_THAT(Taken(stream, 5), IsEmpty());
}

}  // namespace
}  // namespace tessera::comm
