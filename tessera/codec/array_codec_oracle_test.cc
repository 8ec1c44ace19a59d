// Arrays to bytes and back against a naive oracle: every dtype and byte order, random transposes,
// compression, parts and memory layouts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/codec/array_codec.h"
#include "tessera/codec/testing/sample.h"

namespace tessera::codec {
namespace {

using testing::Copy;

using Data = std::vector<std::byte>;
using Span = std::span<const std::byte>;

size_t SizeOf(const Scratch& scratch) {
  return scratch.elements.size() + scratch.front.size() + scratch.back.size();
}

// Bytes of `count` elements in C order, as a decoder leaves them in memory.
Data RandomValues(DType dtype, size_t count) {
  const DTypeInfo& info = InfoOf(dtype);
  Data data(count * static_cast<size_t>(info.bytes));
  uint32_t state = 3;
  for (std::byte& byte : data) {
    state = state * 1664525 + 1013904223;
    int value = static_cast<int>(state >> 24);
    if (dtype == DType::kBool) value &= 1;
    if (info.bits < 8) value &= (1 << info.bits) - 1;
    byte = static_cast<std::byte>(value);
  }
  return data;
}

// Calls visit(index) for every index of `shape` in C order.
template <typename Visit>
void ForEachIndex(const Dims& shape, Visit visit) {
  if (Box::Whole(shape).empty()) return;
  Dims index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

template <typename Byte>
Byte* ElementAt(const BasicStridedView<Byte>& view, const Dims& index) {
  Byte* element = view.data;
  for (size_t d = 0; d < index.size(); ++d) element += index[d] * view.strides[d];
  return element;
}

// The stored bytes before compression, element by element and one transpose after the other.
Data NaivelyStored(const ArraySpec& spec, const Data& values) {
  const int64_t element_bytes = DTypeBytes(spec.array.dtype);
  Dims shape = spec.array.shape;
  Data current = values;
  for (const Dims& order : spec.transposes) {
    Dims next_shape;
    for (const int64_t d : order) next_shape.push_back(shape[d]);
    Data next;
    const auto view = RowMajorView(std::as_const(current).data(), shape, element_bytes);
    ForEachIndex(next_shape, [&](const Dims& after) {
      Dims before(after.size());
      for (size_t i = 0; i < after.size(); ++i) before[order[i]] = after[i];
      const std::byte* element = ElementAt(view, before);
      next.insert(next.end(), element, element + element_bytes);
    });
    current = next;
    shape = next_shape;
  }
  if (spec.endian == Endian::kBig) {
    const bool is_complex = InfoOf(spec.array.dtype).kind == DTypeKind::kComplex;
    const int64_t unit = is_complex ? element_bytes / 2 : element_bytes;
    for (auto i = current.begin(); i != current.end(); i += unit) std::reverse(i, i + unit);
  }
  return current;
}

// A view of fresh memory whose dimensions lie in a random order, with random padding and signs.
struct Layout {
  Data memory;
  StridedView view;
};

Dims ArbitraryOrder(size_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i) {
    std::swap(order[i - 1], order[*rc::gen::inRange<size_t>(0, i)]);
  }
  return order;
}

Layout ArbitraryLayout(const Dims& shape, int64_t element_bytes) {
  Layout layout;
  layout.view = {nullptr, shape, Dims(shape.size()), element_bytes};
  int64_t extent = element_bytes;
  int64_t first = 0;
  const bool padded = *rc::gen::arbitrary<bool>();
  for (const int64_t d : ArbitraryOrder(shape.size())) {
    const int64_t stride = extent + (padded ? *rc::gen::element<int64_t>(0, 0, 3) : 0);
    const bool reversed = padded && shape[d] > 0 && *rc::gen::inRange(0, 5) == 0;
    layout.view.strides[d] = reversed ? -stride : stride;
    if (reversed) first += stride * (shape[d] - 1);
    extent = stride * shape[d];
  }
  layout.memory = Data(static_cast<size_t>(extent), std::byte{0xa5});
  layout.view.data = layout.memory.data() + first;
  return layout;
}

BytesSpec ArbitraryCodec(int element_bytes) {
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return ZstdSpec{};
    case 1:
      return DeflateSpec{DeflateSpec::Wrapping::kGzip, 1};
    case 2:
      return BloscSpec{"lz4", 5, BloscSpec::Shuffle::kAuto, element_bytes, 0};
    case 3:
      return Bz2Spec{};
    default:
      return Crc32cSpec{};
  }
}

ArraySpec ArbitrarySpec(DType dtype, Endian endian) {
  ArraySpec spec;
  spec.array.dtype = dtype;
  spec.endian = endian;
  const size_t rank = *rc::gen::inRange<size_t>(0, 5);
  for (size_t i = 0; i < rank; ++i) {
    spec.array.shape.push_back(*rc::gen::element<int64_t>(1, 1, 2, 3, 4, 5, 6, 7, 0));
  }
  const int transposes = *rc::gen::inRange(0, 3);
  for (int i = 0; i < transposes; ++i) spec.transposes.push_back(ArbitraryOrder(rank));
  const int codecs = *rc::gen::element(0, 0, 1, 1, 2, 3);
  for (int i = 0; i < codecs; ++i) {
    spec.compression.push_back(ArbitraryCodec(DTypeBytes(dtype)));
  }
  return spec;
}

Box ArbitraryPart(const Dims& shape) {
  if (*rc::gen::inRange(0, 3) == 0) return Box::Whole(shape);
  Dims origin;
  Dims size;
  for (const int64_t whole : shape) {
    origin.push_back(*rc::gen::inRange<int64_t>(0, whole + 1));
    size.push_back(*rc::gen::inRange<int64_t>(0, whole - origin.back() + 1));
  }
  return *Box::Make(origin, size);
}

// Encodes from a random layout; the result is what the oracle says.
Data CheckEncode(const ArraySpec& spec, const ArrayCodec& codec, const Data& values) {
  const int64_t element_bytes = DTypeBytes(spec.array.dtype);
  Layout source = ArbitraryLayout(spec.array.shape, element_bytes);
  RC_ASSERT(
      CopyStrided(RowMajorView(values.data(), spec.array.shape, element_bytes), source.view).ok());
  Scratch scratch;
  const auto encoded = codec.Encode(AsConst(source.view), scratch);
  RC_ASSERT(encoded.ok());
  RC_ASSERT(static_cast<int64_t>(SizeOf(scratch)) <=
            codec.EncodeScratchBytes(AsConst(source.view)));
  const Data stored = NaivelyStored(spec, values);
  Scratch oracle_scratch;
  const auto oracle = (*Chain::Make(spec.compression)).Encode(stored, oracle_scratch);
  RC_ASSERT(oracle.ok());
  RC_ASSERT(Copy(*encoded) == Copy(*oracle));
  return Copy(*encoded);
}

// Decodes a random part to a random layout: the part is right, nothing else is written.
void CheckDecode(const ArrayCodec& codec, const Data& values, const Data& encoded) {
  const int64_t element_bytes = DTypeBytes(codec.array().dtype);
  const Box part = ArbitraryPart(codec.array().shape);
  Layout target = ArbitraryLayout(part.shape(), element_bytes);
  Layout expected{target.memory, target.view};
  expected.view.data = expected.memory.data() + (target.view.data - target.memory.data());
  const auto whole = RowMajorView(values.data(), codec.array().shape, element_bytes);
  ForEachIndex(part.shape(), [&](const Dims& index) {
    Dims from = index;
    for (size_t d = 0; d < index.size(); ++d) from[d] += part.origin()[d];
    std::copy_n(ElementAt(whole, from), element_bytes, ElementAt(expected.view, index));
  });
  Scratch scratch;
  const absl::Status status = codec.Decode(encoded, part, target.view, scratch);
  RC_ASSERT(status.ok());
  RC_ASSERT(target.memory == expected.memory);
  RC_ASSERT(static_cast<int64_t>(SizeOf(scratch)) <= codec.DecodeScratchBytes(part, target.view));
}

RC_GTEST_PROP(ArrayCodecProperty, EqualsTheNaiveOracleForEveryDtypeAndByteOrder, ()) {
  for (const DTypeInfo& info : AllDTypes()) {
    for (const Endian endian : {Endian::kLittle, Endian::kBig}) {
      const ArraySpec spec = ArbitrarySpec(info.dtype, endian);
      const auto codec = ArrayCodec::Make(spec);
      RC_ASSERT(codec.ok());
      const Data values =
          RandomValues(info.dtype, static_cast<size_t>(*NumElements(spec.array.shape)));
      const Data encoded = CheckEncode(spec, *codec, values);
      RC_ASSERT(static_cast<int64_t>(encoded.size()) <= codec->most_encoded_bytes());
      if (const auto fixed = codec->fixed_encoded_bytes(); fixed.has_value()) {
        RC_ASSERT(static_cast<int64_t>(encoded.size()) == *fixed);
      }
      if (codec->plain()) RC_ASSERT(encoded == values);
      for (int i = 0; i < 2; ++i) CheckDecode(*codec, values, encoded);
    }
  }
}

}  // namespace
}  // namespace tessera::codec
