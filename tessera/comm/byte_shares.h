// ByteShares: deals pieces of work to ranks, without any of them asking another.
#ifndef TESSERA_COMM_BYTE_SHARES_H_
#define TESSERA_COMM_BYTE_SHARES_H_

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace tessera::comm {

// Every rank deals the same pieces in the same order and so knows which are its own.
class ByteShares {
 public:
  // REQUIRES: ranks > 0.
  explicit ByteShares(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) loads_.emplace(0, rank);
  }

  // The rank that the next piece falls to: the one with the fewest bytes so far, of several the
  // lowest.
  int Deal(int64_t bytes) {
    auto [load, rank] = loads_.top();
    loads_.pop();
    // What costs no bytes costs a call.
    loads_.emplace(load + static_cast<double>(bytes) + 1, rank);
    return rank;
  }

 private:
  // A double does not overflow, whatever sizes were on disk.
  using Load = std::pair<double, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads_;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_BYTE_SHARES_H_
