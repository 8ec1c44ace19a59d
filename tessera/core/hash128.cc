#include "tessera/core/hash128.h"

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the widest vectors that the processor has, found at run time
#else
#include <xxhash.h>
#endif

#include "tessera/core/status.h"

namespace tessera {
namespace {

Hash128 FromLibrary(const XXH128_hash_t& hash) { return {hash.high64, hash.low64}; }

void AppendHex(uint64_t half, std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 15];
}

// -1 for what is no lower-case digit.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Hash128::Hex() const {
  std::string text;
  text.reserve(32);
  AppendHex(high, text);
  AppendHex(low, text);
  return text;
}

absl::StatusOr<Hash128> Hash128::FromHex(std::string_view text) {
  if (text.size() != 32) {
    return InvalidArgument("a hash has 32 hexadecimal digits, found ", text.size(), " characters");
  }
  uint64_t halves[2] = {0, 0};
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = DigitOf(text[i]);
    if (digit < 0) return InvalidArgument("character ", i, " of a hash is no lower-case digit");
    halves[i / 16] = halves[i / 16] << 4 | static_cast<uint64_t>(digit);
  }
  return Hash128{halves[0], halves[1]};
}

struct Hasher128::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { TESSERA_CHECK(xxh != nullptr && XXH3_128bits_reset(xxh) == XXH_OK); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) {}
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::Update(std::span<const std::byte> data) {
  XXH3_128bits_update(state_->xxh, data.data(), data.size());
}

Hash128 Hasher128::Finish() const { return FromLibrary(XXH3_128bits_digest(state_->xxh)); }

Hash128 HashOf(std::span<const std::byte> data) {
  return FromLibrary(XXH3_128bits(data.data(), data.size()));
}

Hash128 HashOf(std::string_view text) { return HashOf(std::as_bytes(std::span(text))); }

}  // namespace tessera
