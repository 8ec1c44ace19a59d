// Elements of a tensor as the bytes of its file, piece by piece.
#ifndef TESSERA_SAFETENSORS_STORED_PIECES_H_
#define TESSERA_SAFETENSORS_STORED_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/core/buffer.h"
#include "tessera/core/dtype.h"
#include "tessera/core/strided.h"

namespace tessera::safetensors {

// Takes a piece and where it lies, counted from the first byte of all of them.  A piece is valid
// only during the call.
using TakePiece = absl::FunctionRef<absl::Status(uint64_t offset, std::span<const std::byte>)>;

// Hands the stored bytes of `elements` to `take`, in order; the first error ends it.  Dense memory
// is one piece, and not copied.  Other views, and elements under a byte, go through `room`, in
// pieces of its size (of 256 KiB when it is smaller).
absl::Status ForEachStoredPiece(const ConstStridedView& elements, DType dtype, Buffer& room,
                                TakePiece take);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_STORED_PIECES_H_
