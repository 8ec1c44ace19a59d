// The elements of a view as runs of memory, which is what loops over elements want.
#ifndef TESSERA_INSPECT_DENSE_RUNS_H_
#define TESSERA_INSPECT_DENSE_RUNS_H_

#include <cstddef>
#include <span>

#include "absl/functional/function_ref.h"
#include "tessera/core/buffer.h"
#include "tessera/core/strided.h"

namespace tessera::inspect {

// Calls `body` with all elements of `view` in C order: where they lie when they are dense there,
// else in runs that were copied to `scratch`, which takes no more than kPieceBytes or one element.
void ForEachDenseRun(const ConstStridedView& view, Buffer& scratch,
                     absl::FunctionRef<void(std::span<const std::byte>)> body);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_DENSE_RUNS_H_
