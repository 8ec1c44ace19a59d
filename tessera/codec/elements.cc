#include "tessera/codec/elements.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::codec {
namespace {

struct Loop {
  int64_t count;
  int64_t stride;
};

// Calls run(start, bytes) for each contiguous run of the view's elements, in no order to rely on.
template <typename Byte, typename RunFn>
void ForEachRun(const BasicStridedView<Byte>& view, RunFn run) {
  if (Box::Whole(view.shape).empty()) return;
  absl::InlinedVector<Loop, 6> loops;
  for (size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] != 1) loops.push_back({view.shape[i], view.strides[i]});
  }
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.stride) > std::abs(b.stride);
  });
  int64_t bytes = view.element_bytes;
  while (!loops.empty() && loops.back().stride == bytes) {
    bytes *= loops.back().count;
    loops.pop_back();
  }
  Dims index(loops.size(), 0);
  Byte* start = view.data;
  while (true) {
    run(start, static_cast<size_t>(bytes));
    size_t d = loops.size();
    for (; d > 0; --d) {
      const Loop& loop = loops[d - 1];
      start += loop.stride;
      if (++index[d - 1] < loop.count) break;
      start -= loop.stride * loop.count;
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

uint16_t Reversed(uint16_t word) { return __builtin_bswap16(word); }
uint32_t Reversed(uint32_t word) { return __builtin_bswap32(word); }
uint64_t Reversed(uint64_t word) { return __builtin_bswap64(word); }

// Words of unknown alignment; the copies are single moves, and the loop becomes vectors.
template <typename Word>
void SwapWords(const std::byte* source, std::byte* target, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, source + i, sizeof(Word));
    word = Reversed(word);
    std::memcpy(target + i, &word, sizeof(Word));
  }
}

bool AllBools(const std::byte* data, size_t bytes) {
  uint8_t all = 0;
  for (size_t i = 0; i < bytes; ++i) all |= static_cast<uint8_t>(data[i]);
  return all <= 1;
}

void KeepLowBits(int bits, std::byte* data, size_t bytes) {
  const auto mask = static_cast<std::byte>((1u << bits) - 1);
  for (size_t i = 0; i < bytes; ++i) data[i] &= mask;
}

std::byte At(const ConstStridedView& view, DimsView index) {
  const std::byte* element = view.data;
  for (size_t i = 0; i < index.size(); ++i) element += index[i] * view.strides[i];
  return *element;
}

}  // namespace

int UnitBytes(DType dtype) {
  const DTypeInfo& info = InfoOf(dtype);
  return info.kind == DTypeKind::kComplex ? info.bytes / 2 : info.bytes;
}

void SwapBytes(int unit_bytes, std::span<const std::byte> source, std::byte* target) {
  switch (unit_bytes) {
    case 2:
      return SwapWords<uint16_t>(source.data(), target, source.size());
    case 4:
      return SwapWords<uint32_t>(source.data(), target, source.size());
    case 8:
      return SwapWords<uint64_t>(source.data(), target, source.size());
    default:
      if (source.data() != target && !source.empty()) {
        std::memcpy(target, source.data(), source.size());
      }
  }
}

void SwapElements(int unit_bytes, const StridedView& elements) {
  if (unit_bytes == 1) return;
  ForEachRun(elements, [&](std::byte* run, size_t bytes) {
    SwapBytes(unit_bytes, std::span<const std::byte>(run, bytes), run);
  });
}

bool HasStrayBits(DType dtype) { return dtype == DType::kBool || InfoOf(dtype).bits < 8; }

std::optional<Dims> FindNonBool(const ConstStridedView& elements) {
  bool all = true;
  ForEachRun(elements, [&](const std::byte* run, size_t bytes) { all &= AllBools(run, bytes); });
  if (all) return std::nullopt;
  Dims index(elements.shape.size(), 0);
  while (At(elements, index) <= std::byte{1}) {
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < elements.shape[d]) break;
      index[d] = 0;
    }
  }
  return index;
}

absl::Status ClearStrayBits(DType dtype, DimsView origin, const StridedView& elements) {
  if (dtype == DType::kBool) {
    std::optional<Dims> index = FindNonBool(AsConst(elements));
    if (!index.has_value()) return absl::OkStatus();
    const auto byte = static_cast<unsigned>(At(AsConst(elements), *index));
    for (size_t d = 0; d < index->size(); ++d) (*index)[d] += origin[d];
    return DataLoss("bool: element ", ShapeText(*index), " is the byte ", byte,
                    ", expected 0 or 1");
  }
  const DTypeInfo& info = InfoOf(dtype);
  if (info.bits < 8) {
    ForEachRun(elements, [&](std::byte* run, size_t bytes) { KeepLowBits(info.bits, run, bytes); });
  }
  return absl::OkStatus();
}

}  // namespace tessera::codec
