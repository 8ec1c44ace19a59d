#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "tessera/codec/crc32c.h"
#include "tessera/codec/makers.h"
#include "tessera/core/status.h"

namespace tessera::codec {

uint32_t Crc32c(std::span<const std::byte> data) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // the library counts in int
  uint32_t crc = ~uint32_t{0};
  while (!data.empty()) {
    const size_t size = std::min(data.size(), kMostAtOnce);
    // The interface was made before const.
    auto* start = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data.data()));
    crc = crc32_iscsi(start, static_cast<int>(size), crc);
    data = data.subspan(size);
  }
  return ~crc;
}

namespace {

constexpr size_t kBytes = sizeof(uint32_t);

class Crc32cCodec final : public BytesCodec {
 public:
  std::string_view name() const override { return "crc32c"; }

  size_t MostEncoded(size_t decoded) const override { return decoded + kBytes; }
  std::optional<size_t> FixedEncoded(size_t decoded) const override { return decoded + kBytes; }

  absl::Status Encode(std::span<const std::byte> data, Buffer& encoded) const override {
    const std::span<std::byte> target = encoded.Resize(data.size() + kBytes);
    std::copy(data.begin(), data.end(), target.begin());
    const uint32_t crc = Crc32c(data);
    for (size_t i = 0; i < kBytes; ++i) {
      target[data.size() + i] = static_cast<std::byte>(crc >> (8 * i));
    }
    return absl::OkStatus();
  }

  absl::Status Decode(std::span<const std::byte> encoded,
                      std::span<std::byte> target) const override {
    TESSERA_ASSIGN_OR_RETURN(const auto data, Checked(encoded));
    if (data.size() != target.size()) {
      return DataLoss("crc32c: ", data.size(), " bytes before the checksum, expected ",
                      target.size());
    }
    std::copy(data.begin(), data.end(), target.begin());
    return absl::OkStatus();
  }

  absl::StatusOr<std::span<const std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                        size_t most, Buffer&) const override {
    TESSERA_ASSIGN_OR_RETURN(const auto data, Checked(encoded));
    if (data.size() <= most) return data;
    return DataLoss("crc32c: ", data.size(), " bytes before the checksum, at most ", most,
                    " expected");
  }

 private:
  // The data before a checksum that is right.
  static absl::StatusOr<std::span<const std::byte>> Checked(std::span<const std::byte> encoded) {
    if (encoded.size() < kBytes) {
      return DataLoss("crc32c: ", encoded.size(), " bytes cannot hold a checksum");
    }
    const auto data = encoded.first(encoded.size() - kBytes);
    uint32_t stored = 0;
    for (size_t i = 0; i < kBytes; ++i) {
      stored |= static_cast<uint32_t>(encoded[data.size() + i]) << (8 * i);
    }
    const uint32_t computed = Crc32c(data);
    if (stored == computed) return data;
    return DataLoss("crc32c: the data has checksum ", computed, ", stored is ", stored);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeCrc32c(const Crc32cSpec&) {
  return std::make_unique<Crc32cCodec>();
}

}  // namespace tessera::codec
