// Verify: whether every byte of a checkpoint is there and is what was saved.
#ifndef TESSERA_CHECKPOINT_VERIFY_H_
#define TESSERA_CHECKPOINT_VERIFY_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"
#include "tessera/core/json.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// Told of the bytes that are done and of all there are to do, as far as that is known; by one
// thread at a time.
using ByteListener = std::function<void(int64_t done, int64_t total)>;

struct VerifyOptions {
  // Names and sizes only: nothing is read but what lists the rest.
  bool quick = false;
  // As OpenOptions has it.
  std::string file = {};
  // Of this rank's share.
  ByteListener progress = nullptr;
  // With several ranks each reads its share; all see the same files.  nullptr: alone.
  comm::Comm* comm = nullptr;
  // Of each call among the ranks, in which one may wait for the reading of another.
  comm::Limit limit = {.timeout = std::chrono::hours(24)};
};

// Something that is damaged, missing or not what it should be.
struct VerifyProblem {
  std::string key;      // of the array, with its prefix; empty: a file of the checkpoint itself
  std::string file;     // from the checkpoint's root
  std::string problem;  // what was found and what was expected, and where in the file
  friend bool operator==(const VerifyProblem&, const VerifyProblem&) = default;
};

struct VerifyReport {
  int64_t arrays = 0;
  int64_t chunks = 0;
  int64_t bytes = 0;  // stored ones that were held against the manifest, or decoded
  // Arrays that no manifest vouches for: all that could be told is that they decode, or that their
  // file has a good header and all of its bytes.
  int64_t unsealed_arrays = 0;
  int64_t seal_arrays = 0;              // that a seal vouches for, and no manifest of a save
  int64_t absent_chunks = 0;            // that may be absent: the format says what is in them
  std::vector<VerifyProblem> problems;  // by file
  bool ok() const { return problems.empty(); }
  // That the manifest of a save vouches for.
  int64_t manifest_arrays() const { return arrays - seal_arrays - unsealed_arrays; }
  friend bool operator==(const VerifyReport&, const VerifyReport&) = default;
};

// As `tessera verify` prints it.
OrderedJson ToJson(const VerifyReport& report);

// Looks at all prefixes, or at the arrays found where there is no index.  What is wrong with the
// checkpoint is in the report; an error means that it could not be looked at: NotFound when there
// is none, Unimplemented for a kind of store that is not known, errors of DetectFormat.  With a
// comm it is collective, the report or error is the same on every rank, and Aborted also means that
// the ranks do not see the same checkpoint.
absl::StatusOr<VerifyReport> VerifyCheckpoint(store::KvStore& store, IoContext& io,
                                              const VerifyOptions& options = {},
                                              std::stop_token stop = {});

struct SealOptions {
  // As OpenOptions has it.
  std::string file = {};
  // Of stored bytes that are read to be decoded and to be hashed, so that most count twice.
  ByteListener progress = nullptr;
};

struct SealReport {
  int64_t chunks = 0;
  int64_t bytes = 0;
  // Prefixes, "" for arrays without one; of safetensors files the name of the set.
  std::vector<std::string> sealed;
  std::vector<std::string> had_seal;  // those that a save of ours vouches for
  // Of the sealed ones: those where a save of ours had written down other bytes.
  std::vector<std::string> replaced;
};

// Writes down size and hash of everything in a checkpoint that somebody else made, so that later
// damage is found.  Every array is decoded first: what is damaged is not sealed, and DataLoss names
// it.  A seal that is there is replaced.  No file but the seals is touched.
//
// What a save of ours wrote keeps its manifest as long as that holds.  Where it does not, as
// another program has saved over it, the seal counts instead; so only seal what is known to be
// right.
absl::StatusOr<SealReport> SealCheckpoint(store::KvStore& store, IoContext& io,
                                          const SealOptions& options = {},
                                          std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_VERIFY_H_
