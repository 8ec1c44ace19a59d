#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "tessera/codec/crc32c.h"
#include "tessera/codec/makers.h"
#include "tessera/core/status.h"

namespace tessera::codec {

uint32_t Crc32c(std::span<const std::byte> data) { return Crc32c(0, data); }

uint32_t Crc32c(uint32_t before, std::span<const std::byte> data) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // the library counts in int
  uint32_t crc = ~before;
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

uint32_t StoredChecksum(std::span<const std::byte> bytes) {
  uint32_t stored = 0;
  for (size_t i = 0; i < kBytes; ++i) stored |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return stored;
}

absl::Status CheckSame(uint32_t computed, uint32_t stored) {
  if (stored == computed) return absl::OkStatus();
  return DataLoss("crc32c: the data has checksum ", computed, ", stored is ", stored);
}

absl::Status TooShort(size_t size) {
  return DataLoss("crc32c: ", size, " bytes cannot hold a checksum");
}

// Holds back the last bytes, which may be the checksum.
class Crc32cStream final : public StreamDecoder {
 public:
  absl::Status Decode(std::span<const std::byte>& input, std::span<std::byte>& output) override {
    while (held_ < kBytes && !input.empty()) {
      last_[held_++] = input.front();
      input = input.subspan(1);
    }
    const size_t size = std::min(input.size(), output.size());
    if (size == 0) return absl::OkStatus();
    // As many bytes of those held and of the input as the input has, the held ones first.
    const size_t held = std::min(size, kBytes);
    std::copy_n(last_, held, output.begin());
    std::copy_n(input.begin(), size - held, output.begin() + held);
    std::copy(last_ + held, last_ + kBytes, last_);
    std::copy_n(input.begin() + (size - held), held, last_ + (kBytes - held));
    crc_ = Crc32c(crc_, output.first(size));
    input = input.subspan(size);
    output = output.subspan(size);
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    return held_ < kBytes ? TooShort(held_) : CheckSame(crc_, StoredChecksum(last_));
  }

 private:
  std::byte last_[kBytes];
  size_t held_ = 0;
  uint32_t crc_ = 0;
};

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

  std::unique_ptr<StreamDecoder> StartStream() const override {
    return std::make_unique<Crc32cStream>();
  }
  std::optional<size_t> StreamBytes() const override { return sizeof(Crc32cStream); }

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
    if (encoded.size() < kBytes) return TooShort(encoded.size());
    const auto data = encoded.first(encoded.size() - kBytes);
    TESSERA_RETURN_IF_ERROR(CheckSame(Crc32c(data), StoredChecksum(encoded.last(kBytes))));
    return data;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<BytesCodec>> MakeCrc32c(const Crc32cSpec&) {
  return std::make_unique<Crc32cCodec>();
}

}  // namespace tessera::codec
