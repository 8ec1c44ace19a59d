// Reads parts of tensors straight from their file.
#ifndef TESSERA_SAFETENSORS_READ_H_
#define TESSERA_SAFETENSORS_READ_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/destination.h"
#include "tessera/core/io_context.h"
#include "tessera/core/stored_value.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

struct ReadOptions {
  // What block `cell` (its number in C order) of the tensor must be.  With it every block that is
  // met is read whole and hashed before a part of it is handed on, or, where it went straight to
  // memory of the destination, after.  DataLoss names file, tensor and bytes.  Called by many
  // threads at once.
  std::function<std::optional<StoredValue>(int64_t cell)> expected = nullptr;
};

struct ReadReport {
  int64_t blocks = 0;
  int64_t bytes_read = 0;
};

// Parts are boxes that lie within one block each, no two of one block.  Every block is read once,
// in parallel; memory beside the destination stays within the budget.  A part that is contiguous in
// the file and in the destination's memory is read into it without another copy; elements under a
// byte are unpacked.  OutOfRange or DataLoss when the file is shorter than its header says; Aborted
// when it was replaced since its header was read; DataLoss for a bool that is neither 0 nor 1.
absl::StatusOr<ReadReport> ReadParts(store::KvStore& store, const SetFile& file,
                                     const Tensor& tensor, std::span<const Box> parts,
                                     Destination& destination, IoContext& io,
                                     const ReadOptions& options = {}, std::stop_token stop = {});

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_READ_H_
