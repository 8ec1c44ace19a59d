// Histograms drawn with characters.
#ifndef TESSERA_CLI_HISTOGRAM_TEXT_H_
#define TESSERA_CLI_HISTOGRAM_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/cli/terminal.h"
#include "tessera/inspect/histogram.h"

namespace tessera::cli {

// With at most `most` bins: neighbours are put together, as many to each but the last.
inspect::Histogram WithFewerBins(const inspect::Histogram& histogram, size_t most);

// One character for each bin: blank for none, then as high as its share of the largest.
std::string SparkLine(const std::vector<int64_t>& counts, const Terminal& terminal);

// `count` as a bar of at most `columns`, which `most` has; a little is never nothing.
std::string Bar(int64_t count, int64_t most, int columns, const Terminal& terminal);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_HISTOGRAM_TEXT_H_
