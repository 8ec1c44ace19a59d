// Values of a stored array: some of its elements, in memory.
#ifndef TESSERA_INSPECT_VALUES_H_
#define TESSERA_INSPECT_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/io_context.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"
#include "tessera/inspect/slice.h"

namespace tessera::inspect {

// What is shown of a long dimension: so many from either end.
inline constexpr int64_t kEdge = 3;
// Past so many elements only the edges are shown.
inline constexpr int64_t kMostShown = 1000;

struct Values {
  DType dtype = DType::kFloat32;
  Dims shape = {};  // of the selection
  // Of `elements`: the same, or, of an array in parts, in every dimension longer than 2 * kEdge
  // only the first and the last kEdge.
  Dims held = {};
  std::shared_ptr<const std::byte> elements = nullptr;  // dense, in C order

  std::span<const std::byte> bytes() const;
};

// Fills `target`, of the selection's counts, from those chunks only that have an element of it.
absl::Status ReadSelection(const checkpoint::ArrayReader& reader,
                           const checkpoint::CheckpointArray& array, const Selection& selection,
                           const StridedView& target, IoContext& io, std::stop_token stop = {});

// All elements of the selection.  ResourceExhausted when they are more than the whole budget.
absl::StatusOr<Values> ReadValues(const checkpoint::Checkpoint& checkpoint,
                                  const checkpoint::CheckpointArray& array,
                                  const Selection& selection, IoContext& io,
                                  std::stop_token stop = {});

// The same, or what is shown of it where there are more than kMostShown elements.
absl::StatusOr<Values> ReadEdges(const checkpoint::Checkpoint& checkpoint,
                                 const checkpoint::CheckpointArray& array,
                                 const Selection& selection, IoContext& io,
                                 std::stop_token stop = {});

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_VALUES_H_
