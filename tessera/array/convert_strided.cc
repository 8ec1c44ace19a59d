#include "tessera/array/convert_strided.h"

#include <utility>

#include "tessera/array/host_array.h"
#include "tessera/core/buffer.h"
#include "tessera/core/convert.h"
#include "tessera/core/mutex.h"
#include "tessera/core/parallel.h"
#include "tessera/core/status.h"
#include "tessera/device/parallel_copy.h"
#include "tessera/device/pieces.h"

namespace tessera::array {
namespace {

// Small enough that a piece and what becomes of it stay in a core's cache.
constexpr int64_t kPieceElements = 16 << 10;

template <typename Byte>
std::span<Byte> DenseBytes(const BasicStridedView<Byte>& view) {
  return {view.data, static_cast<size_t>(*NumElements(view.shape) * view.element_bytes)};
}

// Memory of one thread for pieces that are not dense.
struct Scratch {
  Buffer before;
  Buffer after;
};

StridedView DenseCopy(Buffer& buffer, const Dims& shape, int64_t element_bytes) {
  buffer.Resize(static_cast<size_t>(*NumElements(shape) * element_bytes));
  return RowMajorView(buffer.span().data(), shape, element_bytes);
}

absl::Status ConvertPiece(DType from, ConstStridedView source, DType to, const StridedView& target,
                          Scratch& scratch) {
  if (!IsDense(source)) {
    const StridedView dense = DenseCopy(scratch.before, source.shape, source.element_bytes);
    TESSERA_RETURN_IF_ERROR(CopyStrided(source, dense));
    source = AsConst(dense);
  }
  if (IsDense(AsConst(target))) {
    return ConvertElements(from, DenseBytes(source), to, DenseBytes(target));
  }
  const StridedView dense = DenseCopy(scratch.after, target.shape, target.element_bytes);
  TESSERA_RETURN_IF_ERROR(ConvertElements(from, DenseBytes(source), to, DenseBytes(dense)));
  return CopyStrided(AsConst(dense), target);
}

absl::Status Check(DType from, const ConstStridedView& source, DType to,
                   const StridedView& target) {
  TESSERA_RETURN_IF_ERROR(CheckElements(source, from));
  TESSERA_RETURN_IF_ERROR(CheckElements(AsConst(target), to));
  if (source.shape != target.shape) {
    return InvalidArgument("cannot convert an array of shape ", ShapeText(source.shape),
                           " to one of shape ", ShapeText(target.shape));
  }
  if (CanConvert(from, to)) return absl::OkStatus();
  return InvalidArgument("cannot convert ", DTypeName(from), " to ", DTypeName(to));
}

}  // namespace

absl::Status ConvertStrided(DType from, const ConstStridedView& source, DType to,
                            const StridedView& target) {
  TESSERA_RETURN_IF_ERROR(Check(from, source, to, target));
  if (from == to) return device::CopyStridedInParallel(source, target);
  TESSERA_ASSIGN_OR_RETURN(const int64_t elements, NumElements(target.shape));
  if (elements == 0) return absl::OkStatus();
  const device::PieceGrid pieces(target.shape, target.strides, 1 + elements / kPieceElements);
  Mutex mutex;
  absl::Status first;  // of all pieces; under `mutex`
  ParallelFor(pieces.count(), 8, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    absl::Status status;
    for (int64_t i = begin; i < end && status.ok(); ++i) {
      const Box piece = pieces[i];
      status = ConvertPiece(from, SubView(source, piece), to, SubView(target, piece), scratch);
    }
    MutexLock lock(mutex);
    first.Update(status);
  });
  return first;
}

}  // namespace tessera::array
