// Writes tensors into files whose layout is known, in any order, from many threads and processes.
#ifndef TESSERA_SAFETENSORS_WRITE_H_
#define TESSERA_SAFETENSORS_WRITE_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/core/buffer.h"
#include "tessera/core/strided.h"
#include "tessera/safetensors/plan_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

// Makes the file at `key` with all its bytes reserved and its header written.  What is not written
// afterwards reads as zeros, so the key is one that nobody reads yet.  Unimplemented where the
// store cannot write parts of a value.
absl::Status StartFile(store::KvStore& store, std::string_view key, const PlannedFile& file,
                       std::stop_token stop = {});

// Stores `elements`, of the box's shape, as those of `box` of a tensor.  Thread-safe; boxes of
// elements under a byte begin and end at whole bytes.  One request for what is contiguous in the
// file; a view that is not dense goes through `room`, in pieces of its size (of 256 KiB when it is
// smaller).
absl::Status WriteBox(store::KvStore& store, std::string_view key, const PlannedFile& file,
                      const Tensor& tensor, const Box& box, const ConstStridedView& elements,
                      Buffer& room, std::stop_token stop = {});

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_WRITE_H_
