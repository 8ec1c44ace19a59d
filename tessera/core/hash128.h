// Hash128: XXH3 with 128 bits, by which damage to stored bytes is found.
//
// It is no signature: who can write a chunk can write its hash.  It reads about as fast as memory
// does, so that it can run with every read and write.
#ifndef TESSERA_CORE_HASH128_H_
#define TESSERA_CORE_HASH128_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  // 32 lower-case digits, the high half first.
  std::string Hex() const;
  // InvalidArgument unless `text` is what Hex() makes.
  static absl::StatusOr<Hash128> FromHex(std::string_view text);

  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// Takes data in pieces of any size.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;

  void Update(std::span<const std::byte> data);

  // Of all data so far; more may follow.
  Hash128 Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of data in one piece.
Hash128 HashOf(std::span<const std::byte> data);
Hash128 HashOf(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_CORE_HASH128_H_
