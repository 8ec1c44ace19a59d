// A load in which the processes read for each other.
#ifndef TESSERA_CHECKPOINT_LOAD_SHARED_H_
#define TESSERA_CHECKPOINT_LOAD_SHARED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_report.h"
#include "tessera/checkpoint/load_run.h"

namespace tessera::checkpoint {

// As RunLoad, with every chunk read once by all ranks of the job's comm together, in rounds that
// keep within the smallest budget of any rank.  Collective: an error of one rank is everyone's.
// InvalidArgument when the ranks have other plans, or a mesh has processes that are no ranks.
absl::StatusOr<std::vector<array::Value>> RunSharedLoad(const LoadJob& job, LoadReport& report);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_SHARED_H_
