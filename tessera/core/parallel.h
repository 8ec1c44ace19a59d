// ParallelFor: computation over a range on all cores, on oneTBB.  The body must not block.
#ifndef TESSERA_CORE_PARALLEL_H_
#define TESSERA_CORE_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace tessera {

// Calls body(begin, end) on pieces of [0, count) that together cover it once; pieces of at least
// `grain` unless the range is shorter.  Returns when all are done.  REQUIRES: grain > 0.
void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

}  // namespace tessera

#endif  // TESSERA_CORE_PARALLEL_H_
