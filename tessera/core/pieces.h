// Data that is handed on piece by piece, so that no one need hold all of it.
#ifndef TESSERA_CORE_PIECES_H_
#define TESSERA_CORE_PIECES_H_

#include <cstddef>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tessera {

// Takes the next piece; a piece is valid only during the call.  After an error nothing follows.
using Sink = absl::FunctionRef<absl::Status(std::span<const std::byte>)>;

// Hands all pieces to the sink, in order, and passes on its errors.
using Producer = absl::FunctionRef<absl::Status(Sink)>;

// Small enough to stay in a core's own cache between the one who fills it and the one who takes it.
inline constexpr size_t kPieceBytes = size_t{256} << 10;

}  // namespace tessera

#endif  // TESSERA_CORE_PIECES_H_
