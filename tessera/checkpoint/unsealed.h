// Arrays that no manifest vouches for: all that can be told is whether they are complete and
// decode.
#ifndef TESSERA_CHECKPOINT_UNSEALED_H_
#define TESSERA_CHECKPOINT_UNSEALED_H_

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
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

// One such array.  `store` and `entry` outlive it.  Thread-safe once it is open.
class UnsealedArray {
 public:
  UnsealedArray(store::KvStore& store, const ArrayEntry& entry);
  ~UnsealedArray();
  UnsealedArray(UnsealedArray&&) noexcept;

  // Reads its metadata.  What is wrong with that is a finding, and there are no cells then.
  absl::Status Open(std::stop_token stop = {});

  int64_t cells() const;
  int64_t cell_bytes() const;  // in memory
  // Forgets what was wrong with the metadata: another rank tells of it.
  void ForgetProblems();
  // Reads and decodes one cell of its grid.  Returns the stored bytes.
  absl::StatusOr<int64_t> Decode(int64_t cell, IoContext& io, std::stop_token stop = {});
  // Looks for the chunks of all cells, and reads none.
  absl::Status LookFor(std::stop_token stop = {});

  // All until now.
  UnsealedFindings Findings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads and decodes all of an array.
absl::StatusOr<UnsealedFindings> CheckUnsealedArray(store::KvStore& store, const ArrayEntry& entry,
                                                    IoContext& io, std::stop_token stop = {});

// Of all values below these arrays, as a listing of the store tells.
absl::StatusOr<int64_t> BytesBelow(store::KvStore& store, std::span<const ArrayEntry> arrays,
                                   std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_UNSEALED_H_
