#include "tessera/convert/units.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();

// The product, or kTooMany.
int64_t Times(int64_t a, int64_t b) {
  const auto product = CheckedProduct(a, b);
  return product.ok() ? *product : kTooMany;
}

int64_t BytesOf(DimsView shape, int64_t element_bytes) {
  int64_t bytes = element_bytes;
  for (const int64_t size : shape) bytes = Times(bytes, size);
  return bytes;
}

// Sizes of at least 1, none larger than the array.
Dims Within(DimsView cell, DimsView shape) {
  Dims sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    sizes.push_back(std::max<int64_t>(1, std::min(cell[i], shape[i])));
  }
  return sizes;
}

// The smallest multiple of both in each dimension; all of it where that is more.
Dims CommonCell(DimsView shape, DimsView a, DimsView b) {
  Dims common;
  for (size_t i = 0; i < shape.size(); ++i) {
    common.push_back(Times(a[i] / std::gcd(a[i], b[i]), b[i]));
  }
  return Within(common, shape);
}

// Makes dimension i of `unit` larger by steps, up to `end`, as long as it fits.
void GrowDimension(size_t i, int64_t step, int64_t end, const UnitQuestion& question, int64_t most,
                   Dims& unit) {
  const int64_t each = BytesOf(unit, question.element_bytes) / unit[i];
  const int64_t fitting = most / std::max<int64_t>(1, each);
  if (fitting >= end) {
    unit[i] = std::max(unit[i], end);
  } else if (fitting > unit[i]) {
    unit[i] = std::max(unit[i], fitting / step * step);
  }
}

// Inner dimensions first, so that what lies together is copied together.
Dims Grown(Dims unit, DimsView end, const UnitQuestion& question, int64_t most) {
  const Dims step = unit;
  for (size_t i = unit.size(); i > 0; --i) {
    GrowDimension(i - 1, step[i - 1], end[i - 1], question, most, unit);
  }
  return unit;
}

Dims GrownFromOutside(Dims unit, DimsView end, const UnitQuestion& question, int64_t most) {
  const Dims step = unit;
  for (size_t i = 0; i < unit.size(); ++i) {
    GrowDimension(i, step[i], end[i], question, most, unit);
  }
  return unit;
}

UnitChoice Chosen(const UnitQuestion& question, Dims unit, UnitKind kind) {
  UnitChoice choice{.shape = std::move(unit), .kind = kind};
  choice.count = NumElements(GridShape(question.shape, choice.shape)).value_or(kTooMany);
  choice.bytes = kind == UnitKind::kStream ? 0 : BytesOf(choice.shape, question.element_bytes);
  choice.amplification = ReadAmplification(question.shape, question.source_cell, choice.shape);
  return choice;
}

double DimensionAmplification(int64_t size, int64_t cell, int64_t unit) {
  if (size == 0 || unit >= size || unit % cell == 0) return 1;
  constexpr int64_t kMostCounted = 1 << 16;
  if (size / unit > kMostCounted) {
    return 1 + static_cast<double>(cell - std::gcd(cell, unit)) / static_cast<double>(unit);
  }
  double read = 0;
  for (int64_t begin = 0; begin < size; begin += unit) {
    const int64_t end = std::min(size, begin + unit);
    const int64_t last = (end - 1) / cell * cell;
    read += static_cast<double>(std::min(size - last, cell) + last - begin / cell * cell);
  }
  return read / static_cast<double>(size);
}

}  // namespace

std::string_view UnitKindName(UnitKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"whole", "source", "target", "stream"};
  return kNames[static_cast<size_t>(kind)];
}

double ReadAmplification(DimsView shape, DimsView source_cell, DimsView unit) {
  double amplification = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    amplification *= DimensionAmplification(shape[i], source_cell[i], unit[i]);
  }
  return amplification;
}

absl::StatusOr<UnitChoice> ChooseUnits(const UnitQuestion& question) {
  const Dims source = Within(question.source_cell, question.shape);
  const Dims target = Within(question.target_cell, question.shape);
  const Dims all = Within(question.shape, question.shape);
  const auto bytes = [&](const Dims& unit) { return BytesOf(unit, question.element_bytes); };
  const Dims common = CommonCell(question.shape, source, target);
  const int64_t good = std::min(question.good_bytes, question.most_bytes);
  // Where there is another way, two units at once beat one that fits alone.
  const int64_t most = question.target_divides ? question.most_bytes / 2 : question.most_bytes;
  if (bytes(common) <= most) {
    return Chosen(question, Grown(common, all, question, good), UnitKind::kWhole);
  }
  if (question.target_divides) {
    if (bytes(source) <= question.most_bytes) {
      return Chosen(question, Grown(source, all, question, question.share_bytes),
                    UnitKind::kSource);
    }
    if (question.source_streams) return Chosen(question, source, UnitKind::kStream);
  }
  const Dims least = question.target_divides ? Dims(target.size(), 1) : target;
  if (bytes(least) > question.most_bytes) {
    return ResourceExhausted("a unit of ", ShapeText(least), " needs ", bytes(least),
                             " bytes, and there is memory for ", question.most_bytes);
  }
  const Dims inner = Grown(least, common, question, question.most_bytes / 2);
  const Dims outer = GrownFromOutside(least, common, question, question.most_bytes / 2);
  UnitChoice a = Chosen(question, inner, UnitKind::kTarget);
  UnitChoice b = Chosen(question, outer, UnitKind::kTarget);
  return b.amplification < a.amplification ? b : a;
}

}  // namespace tessera::convert
