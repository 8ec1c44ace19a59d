// What a stored value is as a whole, found while its bytes pass by.
#ifndef TESSERA_ZARR_STORED_HASH_H_
#define TESSERA_ZARR_STORED_HASH_H_

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "tessera/core/hash128.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/stored_value.h"

namespace tessera::zarr {

// Counts and hashes what is handed on.
class StoredHash {
 public:
  // Hands `data` to `sink` in pieces that are hashed while they are in the cache.
  absl::Status Pass(std::span<const std::byte> data, size_t piece_bytes, Sink sink) {
    while (!data.empty()) {
      const auto piece = data.first(std::min(data.size(), piece_bytes));
      Add(piece);
      TESSERA_RETURN_IF_ERROR(sink(piece));
      data = data.subspan(piece.size());
    }
    return absl::OkStatus();
  }

  void Add(std::span<const std::byte> data) {
    size_ += data.size();
    hasher_.Update(data);
  }

  StoredValue Value() const { return {size_, hasher_.Finish()}; }

 private:
  uint64_t size_ = 0;
  Hasher128 hasher_;
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_STORED_HASH_H_
