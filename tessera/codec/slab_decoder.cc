// ArrayCodec::StartSlabs: an array of any size, decoded with the memory of a slab.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tessera/codec/array_codec.h"
#include "tessera/codec/elements.h"
#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

// The slabs of an array in the order in which they are stored.  All dimensions before `axis_` have
// one index in a slab, those behind it have all.
class SlabGrid {
 public:
  SlabGrid(DimsView shape, DimsView order, DimsView strides, int64_t element_bytes,
           int64_t slab_bytes)
      : shape_(shape.begin(), shape.end()), order_(order.begin(), order.end()) {
    const int rank = static_cast<int>(shape.size());
    if (rank == 0) {
      row_bytes_ = element_bytes;
      return;
    }
    while (axis_ + 1 < rank && strides[order[axis_]] > slab_bytes) ++axis_;
    size_ = shape[order[axis_]];
    row_bytes_ = strides[order[axis_]];
    rows_ = std::clamp<int64_t>(slab_bytes / row_bytes_, 1, size_);
    blocks_ = (size_ + rows_ - 1) / rows_;
  }

  // The slab that holds a byte of the array, and where it begins.
  int64_t SlabAt(int64_t offset) const {
    const int64_t outer = offset / (size_ * row_bytes_);
    return outer * blocks_ + offset % (size_ * row_bytes_) / (rows_ * row_bytes_);
  }
  int64_t OffsetOf(int64_t slab) const {
    return (slab / blocks_ * size_ + slab % blocks_ * rows_) * row_bytes_;
  }
  int64_t BytesOf(int64_t slab) const { return RowsOf(slab) * row_bytes_; }
  int64_t MostBytes() const { return rows_ * row_bytes_; }

  Box BoxOf(int64_t slab) const {
    if (shape_.empty()) return Box();
    Dims origin(shape_.size(), 0);
    Dims shape = shape_;
    origin[order_[axis_]] = slab % blocks_ * rows_;
    shape[order_[axis_]] = RowsOf(slab);
    int64_t outer = slab / blocks_;
    for (int i = axis_ - 1; i >= 0; --i) {
      origin[order_[i]] = outer % shape_[order_[i]];
      shape[order_[i]] = 1;
      outer /= shape_[order_[i]];
    }
    const absl::StatusOr<Box> box = Box::Make(origin, shape);
    TESSERA_CHECK(box.ok());
    return *box;
  }

 private:
  int64_t RowsOf(int64_t slab) const { return std::min(rows_, size_ - slab % blocks_ * rows_); }

  const Dims shape_;
  const Dims order_;
  int axis_ = 0;
  int64_t size_ = 1;       // of that dimension
  int64_t row_bytes_ = 1;  // of one index of it
  int64_t rows_ = 1;       // indices in a slab
  int64_t blocks_ = 1;     // slabs for one index of all dimensions before
};

}  // namespace

class ArrayCodec::SlabDecoder final : public PieceDecoder {
 public:
  SlabDecoder(const ArrayCodec& codec, const Box& part, int64_t slab_bytes, int64_t offset,
              Scratch& scratch, BoxSink sink)
      : codec_(codec),
        part_(part),
        grid_(codec.array_.shape, codec.stored_order_, codec.stored_strides_, codec.element_bytes_,
              slab_bytes),
        in_place_(codec.swap_unit_ == 1 && !HasStrayBits(codec.array_.dtype)),
        room_(scratch.elements.Resize(grid_.MostBytes())),
        sink_(sink),
        stream_(codec.chain_.StartStream()) {
    Enter(grid_.SlabAt(offset));
    filled_ = offset - grid_.OffsetOf(slab_);
    taken_ = offset;
  }

  absl::Status Feed(std::span<const std::byte> piece) override {
    return stream_ != nullptr ? FeedStream(piece) : FeedElements(piece);
  }

  absl::Status Finish() override {
    if (stream_ != nullptr) {
      TESSERA_RETURN_IF_ERROR(stream_->Finish());
      if (!done()) return TooFew();
    }
    if (done()) return absl::OkStatus();
    // Only the rest behind the part may be left out.
    return LacksSome() ? TooFew() : HandOn(room_.data());
  }

 private:
  bool done() const { return taken_ == codec_.decoded_bytes_; }

  absl::Status TooFew() const {
    return DataLoss("decoded ", taken_, " bytes, expected ", codec_.decoded_bytes_);
  }
  absl::Status TooMany() const {
    return DataLoss("more than the ", codec_.decoded_bytes_, " bytes expected");
  }

  // The last element of the part has not come yet.
  bool LacksSome() const {
    int64_t last = 0;
    for (int i = 0; i < part_.rank(); ++i) last += (part_.end(i) - 1) * codec_.stored_strides_[i];
    return last + codec_.element_bytes_ > taken_;
  }

  void Enter(int64_t slab) {
    slab_ = slab;
    size_ = grid_.BytesOf(slab);
    filled_ = 0;
    const Box wanted = Intersect(grid_.BoxOf(slab), part_);
    wanted_ = wanted.empty() ? std::nullopt : std::optional(wanted);
  }

  absl::Status FeedStream(std::span<const std::byte> piece) {
    while (!done()) {
      std::span<std::byte> output = room_.subspan(filled_, size_ - filled_);
      TESSERA_RETURN_IF_ERROR(stream_->Decode(piece, output));
      TESSERA_RETURN_IF_ERROR(Advance(size_ - filled_ - output.size()));
      if (!output.empty()) return absl::OkStatus();
    }
    // Room for a byte shows whether there is more, and lets the decoder see the end.
    std::byte more[1];
    std::span<std::byte> output(more);
    TESSERA_RETURN_IF_ERROR(stream_->Decode(piece, output));
    return output.empty() ? TooMany() : absl::OkStatus();
  }

  absl::Status FeedElements(std::span<const std::byte> piece) {
    while (!piece.empty()) {
      if (done()) return TooMany();
      const size_t size = std::min<size_t>(piece.size(), size_ - filled_);
      const bool whole = filled_ == 0 && static_cast<int64_t>(size) == size_;
      if (whole && in_place_) {
        TESSERA_RETURN_IF_ERROR(HandOn(piece.data()));
        wanted_.reset();
      } else if (wanted_.has_value()) {
        std::memcpy(room_.data() + filled_, piece.data(), size);
      }
      TESSERA_RETURN_IF_ERROR(Advance(size));
      piece = piece.subspan(size);
    }
    return absl::OkStatus();
  }

  absl::Status Advance(int64_t bytes) {
    filled_ += bytes;
    taken_ += bytes;
    if (filled_ < size_) return absl::OkStatus();
    TESSERA_RETURN_IF_ERROR(HandOn(room_.data()));
    if (!done()) Enter(slab_ + 1);
    return absl::OkStatus();
  }

  // What is wanted of the slab at hand, whose bytes begin at `data`.
  absl::Status HandOn(const std::byte* data) {
    if (!wanted_.has_value()) return absl::OkStatus();
    const Box slab = grid_.BoxOf(slab_);
    ConstStridedView elements{data, slab.shape(), codec_.stored_strides_, codec_.element_bytes_};
    elements = SubView(elements, RelativeTo(*wanted_, slab.origin()));
    if (!in_place_) {
      std::byte* own = room_.data() + (elements.data - data);
      TESSERA_RETURN_IF_ERROR(
          codec_.FixUp(*wanted_, {own, elements.shape, elements.strides, elements.element_bytes}));
    }
    return sink_(*wanted_, elements);
  }

  const ArrayCodec& codec_;
  const Box part_;
  const SlabGrid grid_;
  const bool in_place_;  // stored bytes are elements as memory has them
  const std::span<std::byte> room_;
  const BoxSink sink_;
  const std::unique_ptr<StreamDecoder> stream_;  // null: no compression
  int64_t taken_ = 0;                            // bytes of the array up to here
  int64_t slab_ = 0;                             // the one at hand
  int64_t size_ = 0;                             // its bytes
  int64_t filled_ = 0;                           // of those, how many are there
  std::optional<Box> wanted_;                    // what of it is to be handed on
};

std::unique_ptr<PieceDecoder> ArrayCodec::StartSlabs(const Box& part, int64_t slab_bytes,
                                                     int64_t offset, Scratch& scratch,
                                                     BoxSink sink) const {
  return std::make_unique<SlabDecoder>(*this, part, slab_bytes, offset, scratch, sink);
}

int64_t ArrayCodec::SlabBytes(int64_t slab_bytes) const {
  return SlabGrid(array_.shape, stored_order_, stored_strides_, element_bytes_, slab_bytes)
      .MostBytes();
}

std::optional<int64_t> ArrayCodec::StreamBytes() const {
  const std::optional<size_t> bytes = chain_.StreamBytes();
  if (!bytes.has_value()) return std::nullopt;
  return static_cast<int64_t>(*bytes);
}

}  // namespace tessera::codec
