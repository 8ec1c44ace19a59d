// Batches: tensors of a set that are read by one request, into one piece of memory.
//
// A request, and memory of its own, cost as much as some dozen KiB of data; a file may hold very
// many tensors that are smaller.
#ifndef TESSERA_SAFETENSORS_BATCHES_H_
#define TESSERA_SAFETENSORS_BATCHES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/host_memory.h"
#include "tessera/safetensors/file_set.h"

namespace tessera::safetensors {

// Places in FileSet::tensors().  Several are in one file, each behind the one before.
using Batch = std::vector<size_t>;

// A tensor of this size or more is read by itself.
inline constexpr uint64_t kSmallTensorBytes = uint64_t{256} << 10;
// A batch ends with the tensor that brings it to this size, so that its memory is in huge pages.
// Who keeps one of its tensors keeps so much.
inline constexpr uint64_t kBatchBytes = kHugePageBytes;

// Every tensor once, as they lie in their files.  Those without elements, and those of elements
// under a byte, which are unpacked on their way, are by themselves.
std::vector<Batch> BatchesOf(const FileSet& set);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_BATCHES_H_
