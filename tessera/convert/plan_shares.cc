#include "tessera/convert/plan_shares.h"

#include <algorithm>

namespace tessera::convert {

std::vector<int64_t> ShareUnits(int ranks, std::vector<ConvertArray>& arrays) {
  double total = 0;
  const auto bytes_of = [](const ConvertArray& array) {
    return static_cast<double>(NumBytes(array.target.dtype, array.target.shape).value());
  };
  for (const ConvertArray& array : arrays) total += bytes_of(array);
  std::vector<int64_t> loads(static_cast<size_t>(ranks), 0);
  double before = 0;
  for (ConvertArray& array : arrays) {
    const double bytes = bytes_of(array);
    const int64_t units = array.unit.count;
    for (int64_t begin = 0; begin < units;) {
      const double first = before + bytes * static_cast<double>(begin) / static_cast<double>(units);
      const int rank = std::min(ranks - 1, static_cast<int>(first / total * ranks));
      // The first unit that begins in the next rank's stretch.
      const double end_byte = total / ranks * (rank + 1) - before;
      const double end_unit = end_byte / bytes * static_cast<double>(units);
      int64_t end = units;
      if (rank + 1 < ranks && end_unit < static_cast<double>(units)) {
        end = std::clamp<int64_t>(static_cast<int64_t>(end_unit) + 1, begin + 1, units);
      }
      array.shares.push_back({rank, begin, end});
      loads[static_cast<size_t>(rank)] += static_cast<int64_t>(
          bytes * static_cast<double>(end - begin) / static_cast<double>(units));
      begin = end;
    }
    before += bytes;
  }
  return loads;
}

}  // namespace tessera::convert
