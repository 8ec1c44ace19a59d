// Any bytes as a stored array: the decoder refuses them, or the elements survive another round.
//
// Input: dtype, byte order, compression, rank, then one byte per dimension each for its size, for
// the transpose and for the begin of the part; the rest is the encoded array.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "tessera/codec/array_codec.h"
#include "tessera/core/status.h"

namespace {

using namespace tessera;
using namespace tessera::codec;
using Data = std::vector<std::byte>;

// Takes bytes from the front; zeros once there are none.
class Input {
 public:
  explicit Input(std::span<const std::byte> data) : data_(data) {}
  size_t Next(size_t below) {
    if (data_.empty()) return 0;
    const size_t value = static_cast<size_t>(data_[0]) % below;
    data_ = data_.subspan(1);
    return value;
  }
  // A copy of its own size, so that a read past its end shows.
  Data Rest() const { return Data(data_.begin(), data_.end()); }

 private:
  std::span<const std::byte> data_;
};

std::vector<BytesSpec> Compression(size_t which, int element_bytes) {
  const BloscSpec blosc{"lz4", 5, BloscSpec::Shuffle::kAuto, element_bytes, 0};
  const std::vector<BytesSpec> table[] = {{},
                                          {ZstdSpec{}},
                                          {blosc},
                                          {Crc32cSpec{}},
                                          {DeflateSpec{}},
                                          {ZstdSpec{}, Crc32cSpec{}},
                                          {Bz2Spec{}, DeflateSpec{}, ZstdSpec{}}};
  return table[which % std::size(table)];
}

ArraySpec SpecFrom(Input& input) {
  ArraySpec spec;
  spec.array.dtype = static_cast<DType>(input.Next(kDTypeCount));
  spec.endian = input.Next(2) == 0 ? Endian::kLittle : Endian::kBig;
  spec.compression = Compression(input.Next(256), DTypeBytes(spec.array.dtype));
  const size_t rank = input.Next(5);
  for (size_t i = 0; i < rank; ++i) {
    spec.array.shape.push_back(static_cast<int64_t>(input.Next(9)));
  }
  // Not always a permutation.
  Dims order;
  for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(input.Next(rank)));
  spec.transposes.push_back(order);
  return spec;
}

Box PartFrom(Input& input, const Dims& shape) {
  Dims origin;
  Dims size;
  for (const int64_t whole : shape) {
    origin.push_back(static_cast<int64_t>(input.Next(static_cast<size_t>(whole) + 1)));
    size.push_back(whole - origin.back());
  }
  return *Box::Make(origin, size);
}

std::optional<Data> Decoded(const ArrayCodec& codec, const Box& part, const Data& encoded) {
  const int64_t element_bytes = DTypeBytes(codec.array().dtype);
  Data target(static_cast<size_t>(*part.num_elements() * element_bytes));
  const StridedView view = RowMajorView(target.data(), part.shape(), element_bytes);
  Scratch scratch;
  const absl::Status status = codec.Decode(encoded, part, view, scratch);
  TESSERA_CHECK(status.ok() || absl::IsDataLoss(status));
  const size_t used = scratch.elements.size() + scratch.front.size() + scratch.back.size();
  TESSERA_CHECK(static_cast<int64_t>(used) <= codec.DecodeScratchBytes(part, view));
  if (!status.ok()) return std::nullopt;
  return target;
}

void CheckRound(const ArrayCodec& codec, const Box& part, const Data& encoded) {
  const Box whole = Box::Whole(codec.array().shape);
  const std::optional<Data> elements = Decoded(codec, whole, encoded);
  const std::optional<Data> some = Decoded(codec, part, encoded);
  if (!elements.has_value()) return;
  TESSERA_CHECK(some.has_value());
  Scratch scratch;
  const auto again = codec.Encode(
      RowMajorView(elements->data(), codec.array().shape, DTypeBytes(codec.array().dtype)),
      scratch);
  TESSERA_CHECK(again.ok());
  TESSERA_CHECK(static_cast<int64_t>(again->size()) <= codec.most_encoded_bytes());
  const Data copy(again->begin(), again->end());
  TESSERA_CHECK(Decoded(codec, whole, copy) == elements);
  TESSERA_CHECK(Decoded(codec, part, copy) == some);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  const ArraySpec spec = SpecFrom(input);
  const auto codec = ArrayCodec::Make(spec);
  if (!codec.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(codec.status()));
    return 0;
  }
  const Box part = PartFrom(input, spec.array.shape);
  CheckRound(*codec, part, input.Rest());
  return 0;
}
