#include "tessera/regex/code_point_set.h"

#include <algorithm>

namespace tessera::regex {
namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kAfterSurrogates = 0xE000;

// Sorted, and joined where ranges touch.
std::vector<CodePointRange> Merged(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.low < b.low; });
  std::vector<CodePointRange> merged;
  for (const CodePointRange& range : ranges) {
    if (!merged.empty() && range.low <= merged.back().high + 1) {
      merged.back().high = std::max(merged.back().high, range.high);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

void CodePointSet::Add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet complement;
  char32_t next = 0;
  for (const CodePointRange& range : Merged(ranges_)) {
    if (range.low > next) complement.Add(next, range.low - 1);
    next = range.high + 1;
  }
  if (next <= kLastCodePoint) complement.Add(next, kLastCodePoint);
  return complement;
}

std::vector<CodePointRange> CodePointSet::Ranges() const {
  std::vector<CodePointRange> ranges;
  for (const CodePointRange& range : Merged(ranges_)) {
    if (range.low <= kBeforeSurrogates) {
      ranges.push_back({range.low, std::min(range.high, kBeforeSurrogates)});
    }
    if (range.high >= kAfterSurrogates) {
      ranges.push_back({std::max(range.low, kAfterSurrogates), range.high});
    }
  }
  return ranges;
}

size_t CodePointSet::size() const {
  size_t count = 0;
  for (const CodePointRange& range : Ranges()) count += range.high - range.low + 1;
  return count;
}

}  // namespace tessera::regex
