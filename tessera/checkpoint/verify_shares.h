// VerifyShares: which of the pieces that verify looks at are this rank's.
#ifndef TESSERA_CHECKPOINT_VERIFY_SHARES_H_
#define TESSERA_CHECKPOINT_VERIFY_SHARES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/comm/byte_shares.h"
#include "tessera/comm/comm.h"
#include "tessera/core/hash128.h"

namespace tessera::checkpoint {

class VerifyShares {
 public:
  // nullptr: this rank is alone.
  explicit VerifyShares(const comm::Comm* comm)
      : rank_(comm == nullptr ? 0 : comm->rank()),
        size_(comm == nullptr ? 1 : comm->size()),
        shares_(size_) {}

  bool first() const { return rank_ == 0; }
  int ranks() const { return size_; }

  // What must be the same for all ranks beside the pieces.
  void Note(std::string_view text) { hasher_.Update(std::as_bytes(std::span(text))); }

  // Whether the next piece is this rank's.
  bool Deal(std::string_view name, int64_t bytes) {
    if (size_ == 1) return true;
    Note(name);
    hasher_.Update(std::as_bytes(std::span(&bytes, 1)));
    return shares_.Deal(bytes) == rank_;
  }

  // Of all pieces until now.
  Hash128 work() const { return hasher_.Finish(); }

 private:
  const int rank_;
  const int size_;
  comm::ByteShares shares_;
  Hasher128 hasher_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_VERIFY_SHARES_H_
