// A store in which safetensors files are folders.
//
// What vouches for a checkpoint is a list of values with sizes and hashes.  Here the header and the
// blocks of each tensor are such values, so that a manifest can name them, and whoever checks it
// need not know the format:
//   <file>/header                 the length and the header
//   <file>/<tensor>/tensor.json   TensorText
//   <file>/<tensor>/<number>      a block, numbered in C order
// A tensor's name is escaped as a component of a path.  All other keys are those of the store; the
// files themselves can be read as well, but are not listed.
#ifndef TESSERA_SAFETENSORS_UNFOLDED_STORE_H_
#define TESSERA_SAFETENSORS_UNFOLDED_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "tessera/safetensors/file_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

inline constexpr std::string_view kHeaderName = "header";
inline constexpr std::string_view kTensorName = "tensor.json";

// Where the values of a tensor are.
std::string UnfoldedPath(std::string_view file, std::string_view tensor);

// For reading only: writes, deletes and moves are FailedPrecondition.  A value of a file that was
// replaced since the set was opened is Aborted, one of a file that is gone is missing.  Describe
// names file and bytes.  `base` must outlive it.
std::unique_ptr<store::KvStore> MakeUnfoldedStore(store::KvStore& base, const FileSet& set);

// The file that holds the value of a key; other keys are their own.
std::string FileOfKey(const FileSet& set, std::string_view key);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_UNFOLDED_STORE_H_
