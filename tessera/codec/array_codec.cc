#include "tessera/codec/array_codec.h"

#include <bit>
#include <limits>
#include <utility>

#include "tessera/codec/elements.h"
#include "tessera/codec/transposes.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();

int64_t Saturated(size_t bytes) {
  return bytes > static_cast<size_t>(kMostBytes) ? kMostBytes : static_cast<int64_t>(bytes);
}

Dims StoredStrides(DimsView shape, DimsView order, int64_t element_bytes) {
  Dims stored_shape;
  for (const int64_t dimension : order) stored_shape.push_back(shape[dimension]);
  const Dims dense = RowMajorStrides(stored_shape, element_bytes);
  Dims strides(shape.size());
  for (size_t i = 0; i < order.size(); ++i) strides[order[i]] = dense[i];
  return strides;
}

// The element size in bytes of `endian`'s concern, or 1 when memory has that order already.
int SwapUnit(DType dtype, Endian endian) {
  const bool is_big = endian == Endian::kBig;
  return is_big == (std::endian::native == std::endian::big) ? 1 : UnitBytes(dtype);
}

}  // namespace

absl::StatusOr<ArrayCodec> ArrayCodec::Make(const ArraySpec& spec) {
  ArrayCodec codec;
  codec.array_ = spec.array;
  codec.element_bytes_ = DTypeBytes(spec.array.dtype);
  TESSERA_ASSIGN_OR_RETURN(codec.decoded_bytes_, NumBytes(spec.array.dtype, spec.array.shape));
  TESSERA_ASSIGN_OR_RETURN(codec.stored_order_, Composed(spec.transposes, spec.array.shape.size()));
  codec.stored_strides_ =
      StoredStrides(spec.array.shape, codec.stored_order_, codec.element_bytes_);
  codec.swap_unit_ = SwapUnit(spec.array.dtype, spec.endian);
  TESSERA_ASSIGN_OR_RETURN(codec.chain_, Chain::Make(spec.compression));
  const size_t most = codec.chain_.MostAccepted(codec.decoded_size());
  if (most > static_cast<size_t>(kMostBytes)) {
    return InvalidArgument("an array of ", codec.decoded_bytes_, " bytes: what ",
                           spec.compression.size(), " codecs may make of it does not fit 63 bits");
  }
  codec.most_encoded_bytes_ = static_cast<int64_t>(most);
  return codec;
}

int64_t ArrayCodec::most_written_bytes() const {
  return Saturated(chain_.MostEncoded(decoded_size()));
}

std::optional<int64_t> ArrayCodec::fixed_encoded_bytes() const {
  if (!chain_.FixedEncoded(decoded_size()).has_value()) return std::nullopt;
  return most_encoded_bytes_;
}

bool ArrayCodec::plain() const {
  return chain_.empty() && swap_unit_ == 1 && !HasStrayBits(array_.dtype) &&
         IsStoredOrder(RowMajorStrides(array_.shape, element_bytes_));
}

bool ArrayCodec::IsStoredOrder(DimsView strides) const {
  if (decoded_bytes_ == 0) return true;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (array_.shape[i] != 1 && strides[i] != stored_strides_[i]) return false;
  }
  return true;
}

absl::Status ArrayCodec::CheckSource(const ConstStridedView& source) const {
  if (source.shape != array_.shape || source.element_bytes != element_bytes_) {
    return InvalidArgument("encoding ", ShapeText(source.shape), " of ", source.element_bytes,
                           "-byte elements, expected ", ShapeText(array_.shape), " of ",
                           DTypeName(array_.dtype));
  }
  if (array_.dtype != DType::kBool) return absl::OkStatus();
  const std::optional<Dims> index = FindNonBool(source);
  if (!index.has_value()) return absl::OkStatus();
  return InvalidArgument("bool: element ", ShapeText(*index), " is neither 0 nor 1");
}

absl::StatusOr<std::span<const std::byte>> ArrayCodec::Arrange(const ConstStridedView& source,
                                                               Scratch& scratch) const {
  TESSERA_RETURN_IF_ERROR(CheckSource(source));
  std::span<const std::byte> elements(source.data, decoded_size());
  if (!IsStoredOrder(source.strides)) {
    const std::span<std::byte> stored = scratch.elements.Resize(decoded_size());
    const StridedView view{stored.data(), array_.shape, stored_strides_, element_bytes_};
    TESSERA_RETURN_IF_ERROR(CopyStrided(source, view));
    elements = stored;
  }
  if (swap_unit_ != 1) {
    const std::span<std::byte> swapped = scratch.elements.Resize(decoded_size());
    SwapBytes(swap_unit_, elements, swapped.data());
    elements = swapped;
  }
  return elements;
}

absl::StatusOr<std::span<const std::byte>> ArrayCodec::Encode(const ConstStridedView& source,
                                                              Scratch& scratch) const {
  TESSERA_ASSIGN_OR_RETURN(const auto elements, Arrange(source, scratch));
  return chain_.Encode(elements, scratch);
}

absl::Status ArrayCodec::EncodeTo(const ConstStridedView& source, Scratch& scratch,
                                  Sink sink) const {
  TESSERA_ASSIGN_OR_RETURN(const auto elements, Arrange(source, scratch));
  return chain_.EncodeTo(elements, scratch, sink);
}

absl::Status ArrayCodec::CheckPart(const Box& part, const StridedView& target) const {
  const Box whole = Box::Whole(array_.shape);
  if (part.rank() != whole.rank() || !Contains(whole, part)) {
    return InvalidArgument("part ", part.Text(), " does not lie in an array of shape ",
                           ShapeText(array_.shape));
  }
  if (target.shape != part.shape() || target.element_bytes != element_bytes_) {
    return InvalidArgument("decoding to ", ShapeText(target.shape), " of ", target.element_bytes,
                           "-byte elements, expected ", ShapeText(part.shape()), " of ",
                           DTypeName(array_.dtype));
  }
  return absl::OkStatus();
}

bool ArrayCodec::DecodesDirectly(const Box& part, const StridedView& target) const {
  return part.shape() == array_.shape && IsStoredOrder(target.strides);
}

absl::Status ArrayCodec::Decode(std::span<const std::byte> encoded, const Box& part,
                                const StridedView& target, Scratch& scratch) const {
  TESSERA_RETURN_IF_ERROR(CheckPart(part, target));
  if (DecodesDirectly(part, target)) {
    const std::span<std::byte> bytes(target.data, decoded_size());
    TESSERA_RETURN_IF_ERROR(chain_.Decode(encoded, bytes, scratch));
  } else {
    TESSERA_ASSIGN_OR_RETURN(const std::span<const std::byte> elements,
                             chain_.DecodeAnywhere(encoded, decoded_size(), scratch));
    TESSERA_RETURN_IF_ERROR(Place(elements, part, target));
  }
  return FixUp(part, target);
}

absl::Status ArrayCodec::Place(std::span<const std::byte> elements, const Box& part,
                               const StridedView& target) const {
  const ConstStridedView stored{elements.data(), array_.shape, stored_strides_, element_bytes_};
  return CopyStrided(SubView(stored, part), target);
}

absl::Status ArrayCodec::FixUp(const Box& part, const StridedView& target) const {
  SwapElements(swap_unit_, target);
  return ClearStrayBits(array_.dtype, part.origin(), target);
}

// Decodes to the target, or to the scratch and from there to the target at the end.
class ArrayCodec::PartDecoder final : public PieceDecoder {
 public:
  PartDecoder(const ArrayCodec& codec, const Box& part, const StridedView& target,
              std::span<const std::byte> aside, std::unique_ptr<PieceDecoder> decoder)
      : codec_(codec), part_(part), target_(target), aside_(aside), decoder_(std::move(decoder)) {}

  absl::Status Feed(std::span<const std::byte> piece) override { return decoder_->Feed(piece); }

  absl::Status Finish() override {
    TESSERA_RETURN_IF_ERROR(decoder_->Finish());
    if (!aside_.empty()) TESSERA_RETURN_IF_ERROR(codec_.Place(aside_, part_, target_));
    return codec_.FixUp(part_, target_);
  }

 private:
  const ArrayCodec& codec_;
  const Box part_;
  const StridedView target_;
  const std::span<const std::byte> aside_;  // empty: decoded in place
  const std::unique_ptr<PieceDecoder> decoder_;
};

std::unique_ptr<PieceDecoder> ArrayCodec::StartDecode(const Box& part, const StridedView& target,
                                                      Scratch& scratch) const {
  if (decoded_bytes_ == 0 || !CheckPart(part, target).ok()) return nullptr;
  const bool direct = DecodesDirectly(part, target);
  const std::span<std::byte> bytes =
      direct ? std::span(target.data, decoded_size()) : scratch.elements.Resize(decoded_size());
  std::unique_ptr<PieceDecoder> decoder = chain_.StartDecode(bytes);
  if (decoder == nullptr) return nullptr;
  const auto aside = direct ? std::span<const std::byte>() : std::span<const std::byte>(bytes);
  return std::make_unique<PartDecoder>(*this, part, target, aside, std::move(decoder));
}

size_t ArrayCodec::ArrangeScratch(const ConstStridedView& source) const {
  return IsStoredOrder(source.strides) && swap_unit_ == 1 ? 0 : decoded_size();
}

int64_t ArrayCodec::EncodeScratchBytes(const ConstStridedView& source) const {
  return Saturated(ArrangeScratch(source) + chain_.EncodeScratch(decoded_size()));
}

int64_t ArrayCodec::EncodeToScratchBytes(const ConstStridedView& source) const {
  return Saturated(ArrangeScratch(source) + chain_.EncodeToScratch(decoded_size()));
}

int64_t ArrayCodec::DecodeScratchBytes(const Box& part, const StridedView& target) const {
  if (!DecodesDirectly(part, target)) return MostDecodeScratchBytes();
  return Saturated(chain_.DecodeScratch(decoded_size()));
}

int64_t ArrayCodec::MostDecodeScratchBytes() const {
  const size_t between = chain_.DecodeScratch(decoded_size());
  return Saturated(fixed_encoded_bytes().has_value() ? between : between + decoded_size());
}

}  // namespace tessera::codec
