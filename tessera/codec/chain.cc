#include "tessera/codec/chain.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

constexpr size_t kMost = std::numeric_limits<size_t>::max();

size_t SaturatedSum(size_t a, size_t b) { return b > kMost - a ? kMost : a + b; }

// What a foreign compressor may make of data that does not compress.
size_t MostOfAny(size_t decoded) {
  constexpr size_t kSpare = size_t{4} << 10;
  return SaturatedSum(decoded, SaturatedSum(decoded / 4, kSpare));
}

absl::Status CheckSize(size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return DataLoss("found ", found, " bytes, expected ", expected);
}

// The two buffers between codecs: one to write to while the other is read.
class Turns {
 public:
  explicit Turns(Scratch& scratch) : out_(&scratch.front), other_(&scratch.back) {}
  Buffer& out() { return *out_; }
  void Next() { std::swap(out_, other_); }

 private:
  Buffer* out_;
  Buffer* other_;
};

// How large the two buffers grow.
class TurnSizes {
 public:
  void Write(size_t size) {
    out_ = std::max(out_, size);
    std::swap(out_, other_);
  }
  size_t sum() const { return SaturatedSum(out_, other_); }

 private:
  size_t out_ = 0;
  size_t other_ = 0;
};

// One decoder behind the other, with a piece of data between them.
class PipedStream final : public StreamDecoder {
 public:
  PipedStream(std::unique_ptr<StreamDecoder> outer, std::unique_ptr<StreamDecoder> inner)
      : outer_(std::move(outer)), inner_(std::move(inner)) {}

  absl::Status Decode(std::span<const std::byte>& input, std::span<std::byte>& output) override {
    for (bool more = true; more && !output.empty();) {
      if (between_.empty()) {
        std::span<std::byte> room = room_.Resize(kPieceBytes);
        TESSERA_RETURN_IF_ERROR(outer_->Decode(input, room));
        between_ = room_.span().first(room_.size() - room.size());
      }
      more = !between_.empty();
      TESSERA_RETURN_IF_ERROR(inner_->Decode(between_, output));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    TESSERA_RETURN_IF_ERROR(outer_->Finish());
    return inner_->Finish();
  }

 private:
  const std::unique_ptr<StreamDecoder> outer_;
  const std::unique_ptr<StreamDecoder> inner_;
  Buffer room_;
  std::span<const std::byte> between_;  // of `room_`, what the inner one has not taken
};

}  // namespace

absl::StatusOr<Chain> Chain::Make(std::span<const BytesSpec> specs) {
  Chain chain;
  for (const BytesSpec& spec : specs) {
    TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<BytesCodec> codec, MakeBytesCodec(spec));
    chain.codecs_.push_back(std::move(codec));
  }
  return chain;
}

size_t Chain::MostEncoded(size_t decoded) const {
  for (const auto& codec : codecs_) decoded = codec->MostEncoded(decoded);
  return decoded;
}

size_t Chain::MostAccepted(size_t decoded, size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    const std::optional<size_t> fixed = codecs_[i]->FixedEncoded(decoded);
    // Never less than before, not even where a sum has wrapped.
    decoded = std::max(decoded, fixed.has_value() ? *fixed : MostOfAny(decoded));
  }
  return decoded;
}

std::optional<size_t> Chain::FixedEncoded(size_t decoded) const {
  std::optional<size_t> size = decoded;
  for (const auto& codec : codecs_) {
    if (size.has_value()) size = codec->FixedEncoded(*size);
  }
  return size;
}

absl::StatusOr<std::span<const std::byte>> Chain::Encode(std::span<const std::byte> data,
                                                         Scratch& scratch) const {
  Turns turns(scratch);
  for (const auto& codec : codecs_) {
    TESSERA_RETURN_IF_ERROR(codec->Encode(data, turns.out()));
    data = turns.out().span();
    turns.Next();
  }
  return data;
}

absl::Status Chain::EncodeTo(std::span<const std::byte> data, Scratch& scratch, Sink sink) const {
  if (codecs_.empty()) return sink(data);
  Turns turns(scratch);
  for (size_t i = 0; i + 1 < codecs_.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(codecs_[i]->Encode(data, turns.out()));
    data = turns.out().span();
    turns.Next();
  }
  return codecs_.back()->EncodeTo(data, turns.out(), sink);
}

std::unique_ptr<PieceDecoder> Chain::StartDecode(std::span<std::byte> target) const {
  return codecs_.size() == 1 ? codecs_[0]->StartDecode(target) : nullptr;
}

std::unique_ptr<StreamDecoder> Chain::StartStream() const {
  std::unique_ptr<StreamDecoder> stream;
  for (const auto& codec : codecs_) {
    std::unique_ptr<StreamDecoder> next = codec->StartStream();
    if (next == nullptr) return nullptr;
    stream = stream == nullptr ? std::move(next)
                               : std::make_unique<PipedStream>(std::move(next), std::move(stream));
  }
  return stream;
}

std::optional<size_t> Chain::StreamBytes() const {
  size_t sum = codecs_.empty() ? 0 : (codecs_.size() - 1) * kPieceBytes;
  for (const auto& codec : codecs_) {
    const std::optional<size_t> bytes = codec->StreamBytes();
    if (!bytes.has_value()) return std::nullopt;
    sum = SaturatedSum(sum, *bytes);
  }
  return sum;
}

absl::StatusOr<std::span<const std::byte>> Chain::DecodeToFirst(std::span<const std::byte> encoded,
                                                                size_t decoded,
                                                                Scratch& scratch) const {
  Turns turns(scratch);
  for (size_t i = codecs_.size() - 1; i > 0; --i) {
    TESSERA_ASSIGN_OR_RETURN(
        const std::span<const std::byte> data,
        codecs_[i]->DecodeUpTo(encoded, MostAccepted(decoded, i), turns.out()));
    // A codec that only checks leaves the data where it was, and the buffer free.
    if (data.data() != encoded.data()) turns.Next();
    encoded = data;
  }
  return encoded;
}

absl::Status Chain::Decode(std::span<const std::byte> encoded, std::span<std::byte> target,
                           Scratch& scratch) const {
  if (codecs_.empty()) {
    TESSERA_RETURN_IF_ERROR(CheckSize(encoded.size(), target.size()));
    if (!target.empty()) std::memcpy(target.data(), encoded.data(), target.size());
    return absl::OkStatus();
  }
  TESSERA_ASSIGN_OR_RETURN(encoded, DecodeToFirst(encoded, target.size(), scratch));
  return codecs_[0]->Decode(encoded, target);
}

absl::StatusOr<std::span<const std::byte>> Chain::DecodeAnywhere(std::span<const std::byte> encoded,
                                                                 size_t decoded,
                                                                 Scratch& scratch) const {
  if (!codecs_.empty()) {
    TESSERA_ASSIGN_OR_RETURN(encoded, DecodeToFirst(encoded, decoded, scratch));
    if (!codecs_[0]->FixedEncoded(decoded).has_value()) {
      const std::span<std::byte> target = scratch.elements.Resize(decoded);
      TESSERA_RETURN_IF_ERROR(codecs_[0]->Decode(encoded, target));
      return target;
    }
    TESSERA_ASSIGN_OR_RETURN(encoded, codecs_[0]->DecodeUpTo(encoded, decoded, scratch.elements));
  }
  TESSERA_RETURN_IF_ERROR(CheckSize(encoded.size(), decoded));
  return encoded;
}

size_t Chain::EncodeScratch(size_t decoded) const {
  TurnSizes sizes;
  for (const auto& codec : codecs_) {
    decoded = codec->MostEncoded(decoded);
    sizes.Write(decoded);
  }
  return sizes.sum();
}

size_t Chain::EncodeToScratch(size_t decoded) const {
  TurnSizes sizes;
  for (const auto& codec : codecs_) {
    sizes.Write(codec == codecs_.back() ? codec->EncodeToRoom(decoded)
                                        : codec->MostEncoded(decoded));
    decoded = codec->MostEncoded(decoded);
  }
  return sizes.sum();
}

size_t Chain::DecodeScratch(size_t decoded) const {
  TurnSizes sizes;
  for (size_t i = codecs_.size(); i-- > 1;) {
    const size_t size = MostAccepted(decoded, i);
    if (!codecs_[i]->FixedEncoded(size).has_value()) sizes.Write(size);
  }
  return sizes.sum();
}

}  // namespace tessera::codec
