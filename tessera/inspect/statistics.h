// Statistics of one stored array, taken while it is read.
//
// Elements are read as they are stored, chunk by chunk with all threads, and no more of them are in
// memory than the budget allows.  Arrays of elements of one or two bytes are read once.  Of others
// the histogram needs the range first: an array that fits into a quarter of the budget is kept
// meanwhile, a larger one is read twice.
//
// The results do not depend on the number of threads.
#ifndef TESSERA_INSPECT_STATISTICS_H_
#define TESSERA_INSPECT_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"
#include "tessera/inspect/histogram.h"
#include "tessera/inspect/number.h"

namespace tessera::inspect {

// Minimum, maximum, mean, deviation and histogram are those of the finite elements.  A complex
// element counts by its magnitude; one with a half that is NaN is NaN.  A bool counts as 0 or 1.
struct ArrayStatistics {
  int64_t count = 0;  // all elements
  int64_t finite = 0;
  int64_t zeros = 0;  // of either sign
  int64_t nan = 0;
  int64_t positive_infinities = 0;
  int64_t negative_infinities = 0;
  // nullopt: no element is finite.
  std::optional<Number> min = {};  // integers are exact
  std::optional<Number> max = {};
  std::optional<double> mean = {};
  std::optional<double> deviation = {};  // of all, not of a sample: numpy.std
  Histogram histogram = {};              // between min and max
  friend bool operator==(const ArrayStatistics&, const ArrayStatistics&) = default;
};

inline constexpr int kMostBins = 1 << 16;

struct StatisticsOptions {
  int bins = 40;  // 1 to kMostBins
  // Told how many bytes of elements were done with; those of an array that is read twice count half
  // each time.  Called by many threads at once.
  std::function<void(int64_t bytes)> on_bytes = nullptr;
};

// Errors of ArrayReader; InvalidArgument for a number of bins out of range.
absl::StatusOr<ArrayStatistics> ComputeStatistics(const checkpoint::Checkpoint& checkpoint,
                                                  const checkpoint::CheckpointArray& array,
                                                  const StatisticsOptions& options, IoContext& io,
                                                  std::stop_token stop = {});

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_STATISTICS_H_
