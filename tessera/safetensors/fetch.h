// Bytes of a file as its header describes them, and what must hold for them.
#ifndef TESSERA_SAFETENSORS_FETCH_H_
#define TESSERA_SAFETENSORS_FETCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

// Fills `target` with the file's data from `begin` on.  OutOfRange or DataLoss when the file is
// shorter than its header says; Aborted when it was replaced since its header was read.
absl::Status FetchData(store::KvStore& store, const SetFile& file, uint64_t begin,
                       std::span<std::byte> target, const std::stop_token& stop);

// DataLoss for a bool that is neither 0 nor 1; nothing is wrong with other dtypes.  `bytes` are
// those of the tensor from `begin` on.
absl::Status CheckBools(const store::KvStore& store, const SetFile& file, const Tensor& tensor,
                        uint64_t begin, std::span<const std::byte> bytes);

// Bytes of a tensor, for messages: "PATH: tensor 'a': bytes [100, 104)", counted from the file's
// first.
std::string BytesText(const store::KvStore& store, const SetFile& file, const Tensor& tensor,
                      const ByteSpan& bytes);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_FETCH_H_
