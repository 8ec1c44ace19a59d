#include "tessera/zarr/wanted.h"

#include <numeric>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/zarr/chunk_codec.h"

namespace tessera::zarr {

Wanted WantedOf(const Box& box, const std::optional<StridedView>& target) {
  Wanted wanted{box, target, Dims(box.rank(), 0), Dims(box.rank())};
  std::iota(wanted.dimensions.begin(), wanted.dimensions.end(), 0);
  return wanted;
}

Wanted Turned(const Wanted& wanted, DimsView order) {
  Wanted turned = wanted;
  turned.part = Permuted(wanted.part, order);
  if (wanted.target.has_value()) turned.target = Permuted(*wanted.target, order);
  for (size_t i = 0; i < order.size(); ++i) {
    turned.origin[i] = wanted.origin[order[i]];
    turned.dimensions[i] = wanted.dimensions[order[i]];
  }
  return turned;
}

Wanted InnerWanted(const Wanted& wanted, const Box& cell) {
  const Box part = Intersect(wanted.part, cell);
  Wanted inner{RelativeTo(part, cell.origin()), std::nullopt, wanted.origin, wanted.dimensions};
  if (wanted.target.has_value()) {
    inner.target = SubView(*wanted.target, RelativeTo(part, wanted.part.origin()));
  }
  for (int i = 0; i < cell.rank(); ++i) inner.origin[i] += cell.begin(i);
  return inner;
}

Box ArrayBox(const Wanted& wanted, const Box& box) {
  Dims origin(wanted.origin.size());
  Dims shape(wanted.origin.size());
  for (size_t i = 0; i < origin.size(); ++i) {
    origin[wanted.dimensions[i]] = wanted.origin[i] + box.begin(static_cast<int>(i));
    shape[wanted.dimensions[i]] = box.shape()[i];
  }
  absl::StatusOr<Box> made = Box::Make(origin, shape);
  TESSERA_CHECK(made.ok());
  return *std::move(made);
}

ConstStridedView InArrayOrder(const Wanted& wanted, const ConstStridedView& view) {
  ConstStridedView turned = view;
  for (size_t i = 0; i < wanted.dimensions.size(); ++i) {
    turned.shape[wanted.dimensions[i]] = view.shape[i];
    turned.strides[wanted.dimensions[i]] = view.strides[i];
  }
  return turned;
}

}  // namespace tessera::zarr
