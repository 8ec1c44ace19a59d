// A chain of codecs from bytes to bytes, as zarr v3 metadata lists them.
#ifndef TESSERA_CODEC_CHAIN_H_
#define TESSERA_CODEC_CHAIN_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/bytes_codec.h"

namespace tessera::codec {

// Encoding runs from first to last, decoding from last to first.  Thread-safe.
class Chain {
 public:
  // No codecs: the bytes as they are.
  Chain() = default;
  static absl::StatusOr<Chain> Make(std::span<const BytesSpec> specs);

  bool empty() const { return codecs_.empty(); }

  absl::StatusOr<std::vector<std::byte>> Encode(std::span<const std::byte> data) const;

  // Fills `target`, whose size is that of the decoded data, without another buffer when there is
  // one codec.  Between two codecs the data may be no larger than any encoder would make it.
  absl::Status Decode(std::span<const std::byte> encoded, std::span<std::byte> target) const;

 private:
  std::vector<std::shared_ptr<const BytesCodec>> codecs_;
};

}  // namespace tessera::codec

#endif  // TESSERA_CODEC_CHAIN_H_
