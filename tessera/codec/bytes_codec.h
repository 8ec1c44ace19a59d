// Codecs from bytes to bytes: compression and checksums.  Pure: memory to memory, no I/O.
#ifndef TESSERA_CODEC_BYTES_CODEC_H_
#define TESSERA_CODEC_BYTES_CODEC_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"

namespace tessera::codec {

// Thread-safe: holds only its settings.
class BytesCodec {
 public:
  virtual ~BytesCodec() = default;

  // For messages: "zstd".
  virtual std::string_view name() const = 0;

  virtual absl::StatusOr<std::vector<std::byte>> Encode(std::span<const std::byte> data) const = 0;

  // Fills `target`, whose size is that of the decoded data.  Never writes past it.  DataLoss when
  // `encoded` is damaged, holds other than target.size() bytes, or has anything after its end.
  virtual absl::Status Decode(std::span<const std::byte> encoded,
                              std::span<std::byte> target) const = 0;

  // Decodes data of unknown size.  DataLoss, before anything larger is allocated, when it is more
  // than `most` bytes.
  virtual absl::StatusOr<std::vector<std::byte>> DecodeUpTo(std::span<const std::byte> encoded,
                                                            size_t most) const = 0;
};

// InvalidArgument, naming the setting, when one is out of its range.
absl::StatusOr<std::unique_ptr<BytesCodec>> MakeBytesCodec(const BytesSpec& spec);

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_BYTES_CODEC_H_
