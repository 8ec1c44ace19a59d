#include "tessera/core/sha256.h"

#include <openssl/evp.h>

#include "tessera/core/status.h"

namespace tessera {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  TESSERA_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const std::byte> data) {
  TESSERA_CHECK(EVP_DigestUpdate(state_->context.get(), data.data(), data.size()) == 1);
}

Sha256::Digest Sha256::Finish() {
  Digest digest;
  TESSERA_CHECK(EVP_DigestFinal_ex(state_->context.get(),
                                   reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1);
  return digest;
}

std::string HexText(const Sha256::Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest) {
    text += kDigits[std::to_integer<int>(byte >> 4)];
    text += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return text;
}

std::string Sha256Text(std::span<const std::byte> data) {
  Sha256 hash;
  hash.Update(data);
  return HexText(hash.Finish());
}

}  // namespace tessera
