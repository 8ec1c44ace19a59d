#include "tessera/codec/chain.h"

#include <cstring>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

// What data of this size may grow to when a codec before has nothing to compress: the worst of
// ours is under 2 %, foreign encoders get ample room above it.
size_t MostBetween(size_t decoded) { return decoded + decoded / 4 + (size_t{64} << 10); }

}  // namespace

absl::StatusOr<Chain> Chain::Make(std::span<const BytesSpec> specs) {
  Chain chain;
  for (const BytesSpec& spec : specs) {
    TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<BytesCodec> codec, MakeBytesCodec(spec));
    chain.codecs_.push_back(std::move(codec));
  }
  return chain;
}

absl::StatusOr<std::vector<std::byte>> Chain::Encode(std::span<const std::byte> data) const {
  std::vector<std::byte> encoded;
  if (codecs_.empty()) encoded.assign(data.begin(), data.end());
  for (const auto& codec : codecs_) {
    TESSERA_ASSIGN_OR_RETURN(encoded, codec->Encode(data));
    data = encoded;
  }
  return encoded;
}

absl::Status Chain::Decode(std::span<const std::byte> encoded, std::span<std::byte> target) const {
  if (codecs_.empty()) {
    if (encoded.size() != target.size()) {
      return DataLoss("found ", encoded.size(), " bytes, expected ", target.size());
    }
    if (!target.empty()) std::memcpy(target.data(), encoded.data(), target.size());
    return absl::OkStatus();
  }
  std::vector<std::byte> between;
  for (size_t i = codecs_.size() - 1; i > 0; --i) {
    TESSERA_ASSIGN_OR_RETURN(between, codecs_[i]->DecodeUpTo(encoded, MostBetween(target.size())));
    encoded = between;
  }
  return codecs_[0]->Decode(encoded, target);
}

}  // namespace tessera::codec
