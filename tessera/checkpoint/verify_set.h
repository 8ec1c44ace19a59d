// Verify and seal for safetensors files, which stand at their places in the unfolded store.
#ifndef TESSERA_CHECKPOINT_VERIFY_SET_H_
#define TESSERA_CHECKPOINT_VERIFY_SET_H_

#include <span>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/checkpoint/verify_problems.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// Files as Detected has them.  Every byte of every file is held against the manifest; without one
// headers and sizes are all that can be looked at.  A file whose header is damaged is one problem:
// what it should hold cannot be found in it.
// What this rank finds in its share.
absl::StatusOr<RankFindings> CheckSet(store::KvStore& store, std::span<const std::string> files,
                                      IoContext& io, const VerifyOptions& options,
                                      std::stop_token stop = {});

// Reads through `view`, writes the seal to `store`.  Seals all that is in the files, also tensors
// that an index does not name.  DataLoss for a bool that is none.
absl::StatusOr<SealReport> SealSet(store::KvStore& store, store::KvStore& view,
                                   std::span<const std::string> files, IoContext& io,
                                   const SealOptions& options, std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_VERIFY_SET_H_
