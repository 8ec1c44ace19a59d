// Reads a box of a stored array in batches of chunks, so that a list of them stays short.
#ifndef TESSERA_INSPECT_READ_BATCHES_H_
#define TESSERA_INSPECT_READ_BATCHES_H_

#include <optional>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/checkpoint/checkpoint_array.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/core/box.h"
#include "tessera/core/destination.h"
#include "tessera/core/io_context.h"

namespace tessera::inspect {

struct BatchCalls {
  // What is wanted of the part of a chunk; nullopt: nothing, and the chunk is not read.
  absl::FunctionRef<std::optional<Box>(const Box& part)> wanted;
  // Called when the parts of a batch have all been read, before those of the next.
  absl::FunctionRef<void()> after_batch;
};

absl::Status ReadInBatches(const checkpoint::ArrayReader& reader,
                           const checkpoint::CheckpointArray& array, const Box& box,
                           Destination& destination, const BatchCalls& calls, IoContext& io,
                           std::stop_token stop);

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_READ_BATCHES_H_
