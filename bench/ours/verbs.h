// What bench_ours can do: one function a verb, one source a family.
#ifndef TESSERA_BENCH_OURS_VERBS_H_
#define TESSERA_BENCH_OURS_VERBS_H_

#include "absl/status/statusor.h"
#include "bench/ours/program.h"

namespace tessera::bench {

absl::StatusOr<Result> ZarrRead(const Arguments& arguments);
absl::StatusOr<Result> ZarrWrite(const Arguments& arguments);

absl::StatusOr<Result> CheckpointLoad(const Arguments& arguments);
absl::StatusOr<Result> CheckpointSave(const Arguments& arguments);

absl::StatusOr<Result> ReshardRowsToColumns(const Arguments& arguments);

absl::StatusOr<Result> SafetensorsLoad(const Arguments& arguments);
absl::StatusOr<Result> SafetensorsOpen(const Arguments& arguments);
absl::StatusOr<Result> SafetensorsSave(const Arguments& arguments);

absl::StatusOr<Result> ConvertToSafetensors(const Arguments& arguments);

absl::StatusOr<Result> MatchRules(const Arguments& arguments);

absl::StatusOr<Result> IndexOpen(const Arguments& arguments);
absl::StatusOr<Result> MakeIndex(const Arguments& arguments);
absl::StatusOr<Result> Verify(const Arguments& arguments);
absl::StatusOr<Result> Seal(const Arguments& arguments);
absl::StatusOr<Result> Hash(const Arguments& arguments);

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_OURS_VERBS_H_
