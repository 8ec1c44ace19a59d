// What bench_limits can do: one function a verb, one source a family.
#ifndef TESSERA_BENCH_LIMITS_VERBS_H_
#define TESSERA_BENCH_LIMITS_VERBS_H_

#include "absl/status/statusor.h"
#include "bench/ours/program.h"

namespace tessera::bench {

absl::StatusOr<Result> LimitMemcpy(const Arguments& arguments);
absl::StatusOr<Result> LimitSha256(const Arguments& arguments);

absl::StatusOr<Result> LimitPread(const Arguments& arguments);
absl::StatusOr<Result> LimitPwrite(const Arguments& arguments);
absl::StatusOr<Result> LimitReadFiles(const Arguments& arguments);

absl::StatusOr<Result> LimitUnzstd(const Arguments& arguments);
absl::StatusOr<Result> LimitZstd(const Arguments& arguments);

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_LIMITS_VERBS_H_
