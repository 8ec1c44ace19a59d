#include "tessera/zarr/testing/random_arrays.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::zarr {
namespace {

constexpr std::byte kGap{0xA7};

int64_t CountOf(DimsView shape) { return NumElements(shape).value(); }

}  // namespace

Dims RandomArrays::AnyOrder(int rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), engine_);
  return order;
}

codec::BytesSpec RandomArrays::AnyCompression(Format format, DType dtype) {
  const bool v2 = format == Format::kV2;
  using Wrapping = codec::DeflateSpec::Wrapping;
  using Shuffle = codec::BloscSpec::Shuffle;
  constexpr const char* kCompressors[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};
  constexpr Shuffle kShuffles[] = {Shuffle::kNone, Shuffle::kBytes, Shuffle::kBits, Shuffle::kAuto};
  switch (Number(0, v2 ? 4 : 3)) {
    case 0:
      return codec::ZstdSpec{static_cast<int>(Number(-3, 5)), !v2 && Chance(0.5)};
    case 1: {
      codec::BloscSpec blosc;
      blosc.compressor = kCompressors[Number(0, 4)];
      blosc.level = static_cast<int>(Number(0, 6));
      blosc.shuffle = kShuffles[Number(0, v2 ? 3 : 2)];
      blosc.element_bytes = DTypeBytes(dtype);
      return blosc;
    }
    case 2:
      return codec::DeflateSpec{Wrapping::kGzip, static_cast<int>(Number(0, 6))};
    case 3:
      if (!v2) return codec::Crc32cSpec{};
      return codec::DeflateSpec{Wrapping::kZlib, static_cast<int>(Number(0, 6))};
    default:
      return codec::Bz2Spec{static_cast<int>(Number(1, 3))};
  }
}

ChunkCodecs RandomArrays::AnyCodecs(DType dtype, DimsView chunk_shape, int depth) {
  ChunkCodecs codecs;
  const int rank = static_cast<int>(chunk_shape.size());
  Dims shape(chunk_shape.begin(), chunk_shape.end());
  while (Chance(0.3)) {
    const Dims order = AnyOrder(rank);
    const Dims before = shape;
    for (int i = 0; i < rank; ++i) shape[i] = before[order[i]];
    codecs.transposes.push_back(order);
  }
  if (depth > 0 && Chance(0.5)) {
    auto shard = std::make_shared<ShardSpec>();
    for (const int64_t size : shape) {
      int64_t inner = Number(1, size);
      while (size % inner != 0) --inner;
      shard->chunk_shape.push_back(inner);
    }
    shard->codecs = AnyCodecs(dtype, shard->chunk_shape, depth - 1);
    if (Chance(0.8)) shard->index_codecs.compression.push_back(codec::Crc32cSpec{});
    if (Chance(0.2)) shard->index_codecs.endian = codec::Endian::kBig;
    if (Chance(0.4)) shard->index_location = ShardSpec::IndexLocation::kStart;
    codecs.shard = std::move(shard);
    return codecs;
  }
  if (DTypeBytes(dtype) > 1 && Chance(0.3)) codecs.endian = codec::Endian::kBig;
  while (Chance(0.5)) codecs.compression.push_back(AnyCompression(Format::kV3, dtype));
  return codecs;
}

Metadata RandomArrays::AnyMetadata() {
  Metadata metadata;
  metadata.format = Chance(0.5) ? Format::kV2 : Format::kV3;
  const bool v2 = metadata.format == Format::kV2;
  do {
    metadata.dtype = static_cast<DType>(Number(0, kDTypeCount - 1));
  } while (InfoOf(metadata.dtype).zarr2.empty());
  const int rank = static_cast<int>(Number(0, 4));
  for (int i = 0; i < rank; ++i) {
    metadata.shape.push_back(Chance(0.05) ? 0 : Number(1, 12));
    metadata.chunk_shape.push_back(Number(1, 8));
  }
  metadata.chunk_keys.separator = Chance(0.5) ? '.' : '/';
  if (!v2 && Chance(0.7)) metadata.chunk_keys.style = ChunkKeys::Style::kPrefix;
  if (!v2 || Chance(0.5)) metadata.fill_value = Elements(metadata.dtype, {});
  if (!v2) {
    metadata.codecs = AnyCodecs(metadata.dtype, metadata.chunk_shape, 2);
    return metadata;
  }
  if (Chance(0.4)) {
    Dims reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    metadata.codecs.transposes.push_back(reversed);
  }
  if (InfoOf(metadata.dtype).zarr2.starts_with('<') && Chance(0.3)) {
    metadata.codecs.endian = codec::Endian::kBig;
  }
  if (Chance(0.8))
    metadata.codecs.compression.push_back(AnyCompression(Format::kV2, metadata.dtype));
  return metadata;
}

std::vector<std::byte> RandomArrays::Elements(DType dtype, DimsView shape) {
  std::vector<std::byte> bytes(NumBytes(dtype, shape).value());
  const DTypeInfo& info = InfoOf(dtype);
  // Few values, so that compressors have something to find.
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(Number(0, 3) * 37);
  for (std::byte& byte : bytes) {
    if (info.kind == DTypeKind::kBool) byte &= std::byte{1};
    if (info.bits >= 8) continue;
    byte &= static_cast<std::byte>((1 << info.bits) - 1);
  }
  return bytes;
}

Box RandomArrays::AnyBox(DimsView shape) {
  Dims origin;
  Dims size;
  for (const int64_t extent : shape) {
    if (extent == 0 || Chance(0.3)) {
      origin.push_back(0);
      size.push_back(extent);
      continue;
    }
    origin.push_back(Number(0, extent - 1));
    size.push_back(Number(1, extent - origin.back()));
  }
  return Box::Make(origin, size).value();
}

AnyMemory::AnyMemory(RandomArrays& random, DimsView shape, int64_t element_bytes) {
  view_.shape = Dims(shape.begin(), shape.end());
  view_.strides.resize(shape.size());
  view_.element_bytes = element_bytes;
  int64_t stride = element_bytes;
  int64_t start = 0;
  for (const int64_t d : random.AnyOrder(static_cast<int>(shape.size()))) {
    const int64_t count = std::max<int64_t>(shape[d], 1);
    const bool backwards = random.Chance(0.2);
    view_.strides[d] = backwards ? -stride : stride;
    if (backwards) start += (count - 1) * stride;
    stride = stride * count + (random.Chance(0.3) ? random.Number(1, 9) : 0);
  }
  bytes_.assign(stride, kGap);
  view_.data = bytes_.data() + start;
}

std::vector<std::byte> AnyMemory::Dense() const {
  std::vector<std::byte> dense(CountOf(view_.shape) * view_.element_bytes);
  TESSERA_CHECK(
      CopyStrided(AsConst(view_), RowMajorView(dense.data(), view_.shape, view_.element_bytes))
          .ok());
  return dense;
}

void AnyMemory::Assign(std::span<const std::byte> dense) {
  TESSERA_CHECK(
      CopyStrided(RowMajorView(dense.data(), view_.shape, view_.element_bytes), view_).ok());
}

bool AnyMemory::GapsAreClean() const {
  std::vector<std::byte> bytes = bytes_;
  StridedView copy = view_;
  copy.data = bytes.data() + (view_.data - bytes_.data());
  const std::vector<std::byte> gap(view_.element_bytes, kGap);
  const ConstStridedView blank{gap.data(), view_.shape, Dims(view_.shape.size(), 0),
                               view_.element_bytes};
  TESSERA_CHECK(CopyStrided(blank, copy).ok());
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == kGap; });
}

}  // namespace tessera::zarr
