// Runs: the parts of a box whose elements follow one another in the file.
#ifndef TESSERA_SAFETENSORS_RUNS_H_
#define TESSERA_SAFETENSORS_RUNS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"

namespace tessera::safetensors {

// The elements of each run.  REQUIRES: `box` is not empty and lies in `shape`.
int64_t RunElements(const Box& box, DimsView shape);

// Calls `body` with every run of `box`, in C order; the first error ends it.
absl::Status ForEachRun(const Box& box, DimsView shape,
                        absl::FunctionRef<absl::Status(const Box& run)> body);

// The place of an element in C order.  REQUIRES: no size of `shape` is zero.
uint64_t ElementNumber(DimsView index, DimsView shape);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_RUNS_H_
