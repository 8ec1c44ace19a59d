// Arrays that no manifest vouches for: all that can be told is whether they are complete and
// decode.
#ifndef TESSERA_CHECKPOINT_UNSEALED_H_
#define TESSERA_CHECKPOINT_UNSEALED_H_

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

struct UnsealedFindings {
  int64_t chunks = 0;
  int64_t absent_chunks = 0;  // that may be absent
  int64_t bytes = 0;
  std::vector<VerifyProblem> problems;
  // Of one array; past that it is damaged enough.
  static constexpr size_t kMostProblems = 1000;
};

// With `quick` nothing is decoded: only the metadata is read, and chunks are looked for.
absl::StatusOr<UnsealedFindings> CheckUnsealedArray(store::KvStore& store, const ArrayEntry& entry,
                                                    bool quick, IoContext& io,
                                                    std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_UNSEALED_H_
