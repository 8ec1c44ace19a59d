#include <algorithm>
#include <utility>

#include "tessera/array/convert_strided.h"
#include "tessera/convert/unit_work.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/zarr/chunk_codec.h"

namespace tessera::convert {
namespace {

// Elements of the source, seen in the dimensions of the new array.
ConstStridedView InNewDimensions(const ConvertArray& array, const ConstStridedView& elements) {
  return array.permutation.empty() ? elements : zarr::Permuted(elements, array.permutation);
}

// A box of the source, in the dimensions of the new array.
Box InNewDimensions(const ConvertArray& array, const Box& box) {
  return array.permutation.empty() ? box : zarr::Permuted(box, array.permutation);
}

// The largest box of rows that has no more than so many elements.
Dims PieceShape(DimsView shape, int64_t most_elements) {
  Dims piece(shape.size(), 1);
  for (size_t i = shape.size(); i > 0 && most_elements > 1; --i) {
    piece[i - 1] = std::clamp<int64_t>(most_elements, 1, shape[i - 1]);
    most_elements /= std::max<int64_t>(1, shape[i - 1]);
  }
  return piece;
}

// Hands on, piece by piece, what it is given.
class StreamDestination final : public Destination {
 public:
  StreamDestination(const ConvertArray& array, UnitWorker& worker, const PieceSink& sink)
      : array_(array), worker_(worker), sink_(sink) {}

  std::optional<StridedView> MemoryFor(const Box& /*box*/) override { return std::nullopt; }

  absl::Status Put(const Box& source_box, const ConstStridedView& source) override {
    const Box box = InNewDimensions(array_, source_box);
    const ConstStridedView elements = InNewDimensions(array_, source);
    const int64_t bytes =
        std::max(DTypeBytes(array_.source.dtype), DTypeBytes(array_.target.dtype));
    const Dims piece = PieceShape(box.shape(), kRoomBytes / 2 / bytes);
    TESSERA_ASSIGN_OR_RETURN(const CellRange pieces, CellRange::Of(Box::Whole(box.shape()), piece));
    // One room serves all that a shard's threads bring.
    MutexLock lock(mutex_);
    for (int64_t i = 0; i < pieces.size(); ++i) {
      const Box part = CellBox(pieces.at(i), piece, box.shape());
      TESSERA_ASSIGN_OR_RETURN(const Box where, Translate(part, box.origin()));
      TESSERA_RETURN_IF_ERROR(Hand(where, SubView(elements, part)));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Hand(const Box& box, const ConstStridedView& elements) {
    if (!array_.casts()) return sink_(box, elements);
    const int64_t bytes = *NumBytes(array_.target.dtype, box.shape());
    const StridedView converted =
        RowMajorView(worker_.converted.Resize(static_cast<size_t>(bytes)).data(), box.shape(),
                     DTypeBytes(array_.target.dtype));
    TESSERA_RETURN_IF_ERROR(
        array::ConvertStrided(array_.source.dtype, elements, array_.target.dtype, converted));
    return sink_(box, AsConst(converted));
  }

  const ConvertArray& array_;
  UnitWorker& worker_;
  const PieceSink& sink_;
  Mutex mutex_;
};

}  // namespace

absl::StatusOr<ConstStridedView> ReadUnit(const ConvertArray& array,
                                          const checkpoint::ArrayReader& reader, const Box& box,
                                          UnitWorker& worker, IoContext& io,
                                          const std::stop_token& stop) {
  const Box source_box = array.SourceBox(box);
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.source.dtype, box.shape()));
  const StridedView memory = RowMajorView(worker.source.Resize(static_cast<size_t>(bytes)).data(),
                                          source_box.shape(), DTypeBytes(array.source.dtype));
  TESSERA_RETURN_IF_ERROR(reader.ReadBox(source_box, memory, io, stop));
  const ConstStridedView elements = InNewDimensions(array, AsConst(memory));
  if (!array.casts()) return elements;
  TESSERA_ASSIGN_OR_RETURN(const int64_t new_bytes, NumBytes(array.target.dtype, box.shape()));
  const StridedView converted =
      RowMajorView(worker.converted.Resize(static_cast<size_t>(new_bytes)).data(), box.shape(),
                   DTypeBytes(array.target.dtype));
  TESSERA_RETURN_IF_ERROR(
      array::ConvertStrided(array.source.dtype, elements, array.target.dtype, converted));
  return AsConst(converted);
}

absl::Status StreamUnit(const ConvertArray& array, const checkpoint::ArrayReader& reader,
                        const Box& box, UnitWorker& worker, IoContext& io,
                        const std::stop_token& stop, const PieceSink& sink) {
  StreamDestination destination(array, worker, sink);
  const Box source_box = array.SourceBox(box);
  return reader.ReadBoxes(std::span(&source_box, 1), destination, io, stop).status();
}

}  // namespace tessera::convert
