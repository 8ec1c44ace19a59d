// CodeCounts: how often each element of one or two bytes occurs, which tells all of its statistics.
//
// Counting is about as fast as adding up, and exact; and as the histogram follows from the counts,
// the elements need be seen only once.
#ifndef TESSERA_INSPECT_CODE_COUNTS_H_
#define TESSERA_INSPECT_CODE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/dtype.h"
#include "tessera/inspect/histogram.h"
#include "tessera/inspect/moments.h"

namespace tessera::inspect {

class CodeCounts {
 public:
  // REQUIRES: elements of `dtype` have one or two bytes.
  explicit CodeCounts(DType dtype);

  // Whole elements, of any alignment.
  void Add(std::span<const std::byte> elements);
  void Add(const CodeCounts& other);

  Summary Summarise() const;
  // Of the finite elements, between the least and the greatest.
  Histogram HistogramOf(const BinScale& scale) const;

 private:
  static constexpr size_t kCopies = 4;  // of bytes: equal ones in a row need not wait
  void AddBytes(std::span<const std::byte> elements);
  void AddPairs(std::span<const std::byte> elements);
  int64_t CountOf(size_t code) const;
  Number ValueOf(size_t code) const;

  DType dtype_;
  size_t codes_;
  std::vector<int64_t> counts_;
};

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_CODE_COUNTS_H_
