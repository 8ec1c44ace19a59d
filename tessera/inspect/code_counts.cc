#include "tessera/inspect/code_counts.h"

#include <cmath>
#include <cstring>

#include "tessera/core/status.h"

namespace tessera::inspect {
namespace {

// Elements that are taken from memory at once.
struct Word {
  uint64_t bits;
  explicit Word(const std::byte* place) { std::memcpy(&bits, place, sizeof(bits)); }
};

}  // namespace

CodeCounts::CodeCounts(DType dtype)
    : dtype_(dtype),
      codes_(DTypeBytes(dtype) == 1 ? size_t{1} << 8 : size_t{1} << 16),
      counts_(DTypeBytes(dtype) == 1 ? kCopies * codes_ : codes_) {
  TESSERA_CHECK(DTypeBytes(dtype) <= 2);
}

void CodeCounts::Add(std::span<const std::byte> elements) {
  DTypeBytes(dtype_) == 1 ? AddBytes(elements) : AddPairs(elements);
}

void CodeCounts::Add(const CodeCounts& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void CodeCounts::AddBytes(std::span<const std::byte> elements) {
  int64_t* counts = counts_.data();
  const size_t even = elements.size() - elements.size() % sizeof(uint64_t);
  for (size_t i = 0; i < even; i += sizeof(uint64_t)) {
    const Word word(elements.data() + i);
    for (size_t j = 0; j < sizeof(uint64_t); ++j) {
      ++counts[(j % kCopies << 8) + ((word.bits >> (8 * j)) & 0xFF)];
    }
  }
  for (size_t i = even; i < elements.size(); ++i) ++counts[std::to_integer<size_t>(elements[i])];
}

void CodeCounts::AddPairs(std::span<const std::byte> elements) {
  int64_t* counts = counts_.data();
  const size_t even = elements.size() - elements.size() % sizeof(uint64_t);
  for (size_t i = 0; i < even; i += sizeof(uint64_t)) {
    const Word word(elements.data() + i);
    ++counts[word.bits & 0xFFFF];
    ++counts[(word.bits >> 16) & 0xFFFF];
    ++counts[(word.bits >> 32) & 0xFFFF];
    ++counts[word.bits >> 48];
  }
  for (size_t i = even; i + 1 < elements.size(); i += 2) {
    uint16_t code;
    std::memcpy(&code, elements.data() + i, sizeof(code));
    ++counts[code];
  }
}

int64_t CodeCounts::CountOf(size_t code) const {
  int64_t count = 0;
  for (size_t i = code; i < counts_.size(); i += codes_) count += counts_[i];
  return count;
}

Number CodeCounts::ValueOf(size_t code) const {
  const auto element = static_cast<uint16_t>(code);
  return NumberAt(dtype_, reinterpret_cast<const std::byte*>(&element));
}

Summary CodeCounts::Summarise() const {
  Summary all;
  for (size_t code = 0; code < codes_; ++code) {
    const int64_t count = CountOf(code);
    if (count == 0) continue;
    const Number value = ValueOf(code);
    const double wide = AsDouble(value);
    if (std::isnan(wide)) {
      all.nan += count;
    } else if (std::isinf(wide)) {
      (wide > 0 ? all.positive_infinities : all.negative_infinities) += count;
    } else {
      all.Merge({.zeros = wide == 0 ? count : 0,
                 .min = value,
                 .max = value,
                 .moments = {.count = count, .mean = wide}});
    }
  }
  return all;
}

Histogram CodeCounts::HistogramOf(const BinScale& scale) const {
  Histogram histogram{scale.Edges(), std::vector<int64_t>(static_cast<size_t>(scale.bins()))};
  for (size_t code = 0; code < codes_; ++code) {
    const int64_t count = CountOf(code);
    if (count == 0) continue;
    const double value = AsDouble(ValueOf(code));
    if (std::isfinite(value)) histogram.counts[static_cast<size_t>(scale.BinOf(value))] += count;
  }
  return histogram;
}

}  // namespace tessera::inspect
