// Pieces of memory one after the other, taken in blocks.
#ifndef TESSERA_COMM_PIECE_STREAM_H_
#define TESSERA_COMM_PIECE_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::comm {

// What goes to or comes from one rank.  Byte is std::byte or const std::byte.
template <typename Byte>
class PieceStream {
 public:
  void Add(std::span<Byte> piece) {
    if (!piece.empty()) pieces_.push_back(piece);
    left_ += static_cast<int64_t>(piece.size());
  }

  // Bytes that have not been taken.
  int64_t left() const { return left_; }

  // Calls `use` with the parts of the next block, in order.
  template <typename Use>
  void Take(int64_t block_bytes, Use use) {
    int64_t wanted = std::min(block_bytes, left_);
    left_ -= wanted;
    while (wanted > 0) {
      const std::span<Byte> rest = pieces_[piece_].subspan(offset_);
      const size_t count = std::min(rest.size(), static_cast<size_t>(wanted));
      use(rest.first(count));
      wanted -= static_cast<int64_t>(count);
      offset_ += count;
      if (count < rest.size()) continue;
      ++piece_;
      offset_ = 0;
    }
  }

 private:
  std::vector<std::span<Byte>> pieces_;
  size_t piece_ = 0;   // the one to take from next
  size_t offset_ = 0;  // in it
  int64_t left_ = 0;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_PIECE_STREAM_H_
