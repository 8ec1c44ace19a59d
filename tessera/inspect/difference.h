// What differs between two checkpoints: keys, dtypes, shapes, elements, numbers.
//
// Formats, chunks, codecs and the order of keys make no difference.
#ifndef TESSERA_INSPECT_DIFFERENCE_H_
#define TESSERA_INSPECT_DIFFERENCE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"
#include "tessera/core/shape.h"
#include "tessera/inspect/comparison.h"

namespace tessera::inspect {

enum class DiffLevel {
  kStructure,  // keys, dtypes and shapes; no array is read
  kElements,   // and whether the bytes of elements are the same
  kValues,     // and how far apart the numbers are, also of two dtypes
};

struct DiffProgress {
  int64_t bytes_done = 0;  // of both sides
  int64_t bytes_total = 0;
  int64_t arrays_done = 0;  // pairs
  int64_t arrays_total = 0;
};

struct DiffOptions {
  // Pattern and replacement of Python's re.sub, applied in this order to the keys of A.
  std::vector<std::pair<std::string, std::string>> renames = {};
  // A Python pattern: only keys in which it is found, those of A after renaming.
  std::string match = {};
  DiffLevel level = DiffLevel::kElements;
  std::function<void(const DiffProgress&)> on_progress = nullptr;  // called by one thread
};

struct ChangedArray {
  enum class What {
    kShape,   // and maybe the dtype
    kDtype,   // of one shape
    kValues,  // of one shape and dtype
  };
  std::string key_a;
  std::string key_b;  // the same unless it was renamed
  What what = What::kValues;
  ShapeDtype a;
  ShapeDtype b;
  // Where elements were compared: for kValues, and with DiffLevel::kValues for kDtype.
  std::optional<Comparison> comparison = {};
  std::optional<Dims> first_different = {};  // index of the first in C order
};

// "shape", "dtype" or "values".
std::string_view WhatName(ChangedArray::What what);

// All in natural order.
struct CheckpointDifference {
  std::vector<std::string> only_a;  // keys as A has them
  std::vector<std::string> only_b;
  std::vector<ChangedArray> changed;
  int64_t same_arrays = 0;

  bool same() const { return only_a.empty() && only_b.empty() && changed.empty(); }
};

// Reads both sides in step, in boxes of at most an eighth of the budget each.  Arrays whose
// manifests name the same chunks with the same hashes are taken to be the same without reading
// them; whether the chunks are what the manifest says is what Verify tells.
//
// InvalidArgument for a bad pattern, and, naming both, when two keys are renamed to the same one;
// errors of ArrayReader, beginning with the key and the side.
absl::StatusOr<CheckpointDifference> DiffCheckpoints(const checkpoint::Checkpoint& a,
                                                     const checkpoint::Checkpoint& b,
                                                     const DiffOptions& options, IoContext& io,
                                                     std::stop_token stop = {});

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_DIFFERENCE_H_
