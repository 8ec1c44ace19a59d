// SHA-256, by which contents are compared and named.
#ifndef TESSERA_CORE_SHA256_H_
#define TESSERA_CORE_SHA256_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tessera {

// Takes data in pieces of any size.
class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const std::byte> data);

  // Of all data so far.  Nothing may follow.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 64 lower-case digits.
std::string HexText(const Sha256::Digest& digest);

// Of data in one piece, as text.
std::string Sha256Text(std::span<const std::byte> data);

}  // namespace tessera

#endif  // TESSERA_CORE_SHA256_H_
