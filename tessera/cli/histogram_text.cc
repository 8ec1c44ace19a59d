#include "tessera/cli/histogram_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tessera::cli {
namespace {

constexpr std::array<std::string_view, 9> kHeights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kAsciiHeights = " .:-=+*#@";
constexpr std::array<std::string_view, 8> kWidths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr int kEighths = 8;

// How many of `steps` a count reaches; at least one unless it is zero.
int64_t StepsOf(int64_t count, int64_t most, int64_t steps) {
  if (count <= 0 || most <= 0) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(most);
  return std::clamp<int64_t>(std::llround(share * static_cast<double>(steps)), 1, steps);
}

}  // namespace

inspect::Histogram WithFewerBins(const inspect::Histogram& histogram, size_t most) {
  const size_t bins = histogram.counts.size();
  if (bins <= most) return histogram;
  const size_t together = (bins + most - 1) / most;
  inspect::Histogram fewer;
  for (size_t i = 0; i < bins; i += together) {
    fewer.edges.push_back(histogram.edges[i]);
    fewer.counts.push_back(0);
    for (size_t j = i; j < std::min(bins, i + together); ++j) {
      fewer.counts.back() += histogram.counts[j];
    }
  }
  fewer.edges.push_back(histogram.edges.back());
  return fewer;
}

std::string SparkLine(const std::vector<int64_t>& counts, const Terminal& terminal) {
  if (counts.empty()) return "";
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  std::string line;
  for (const int64_t count : counts) {
    const auto height = static_cast<size_t>(StepsOf(count, most, kEighths));
    line += terminal.unicode ? kHeights[height] : kAsciiHeights.substr(height, 1);
  }
  return line;
}

std::string Bar(int64_t count, int64_t most, int columns, const Terminal& terminal) {
  if (!terminal.unicode) {
    return std::string(static_cast<size_t>(StepsOf(count, most, columns)), '#');
  }
  const int64_t eighths = StepsOf(count, most, int64_t{kEighths} * columns);
  std::string bar;
  for (int64_t i = 0; i < eighths / kEighths; ++i) bar += kHeights.back();
  bar += kWidths[static_cast<size_t>(eighths % kEighths)];
  return bar;
}

}  // namespace tessera::cli
