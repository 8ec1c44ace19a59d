// tensorstore_index.json: the list of arrays that eformer keeps beside a checkpoint.
#ifndef TESSERA_CHECKPOINT_INDEX_FILE_H_
#define TESSERA_CHECKPOINT_INDEX_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::checkpoint {

// One array.
struct ArrayRecord {
  std::string path;  // relative to the checkpoint, with '/'
  Dims shape;
  std::string dtype;  // a NumPy / ml_dtypes name; informative
  // The key path, where the writer was tessera; other writers' paths are split at '/'.
  std::optional<std::vector<std::string>> key = {};
  friend bool operator==(const ArrayRecord&, const ArrayRecord&) = default;
};

// The whole file.  `version` is information: what the file holds decides how it is read.
struct TensorstoreIndex {
  std::string version;
  // Lists by prefix, as written; nullopt in files from before there were prefixes.
  std::optional<std::vector<std::pair<std::string, std::vector<ArrayRecord>>>> prefixes = {};
  // The list of a tree saved without a prefix.
  std::optional<std::vector<ArrayRecord>> arrays = {};
  friend bool operator==(const TensorstoreIndex&, const TensorstoreIndex&) = default;
};

// InvalidArgument when `text` is not JSON, its format is not "tensorstore" or a field is wrong;
// the message names the field.
absl::StatusOr<TensorstoreIndex> DecodeIndexFile(std::string_view text);

// The arrays of one prefix.
struct SelectedArrays {
  std::string prefix;  // empty: none
  std::vector<ArrayRecord> arrays;
};

// The list that `prefix` asks for.  Without one: the unprefixed list, else the only prefix there
// is.  InvalidArgument with the known prefixes when there is no such one, or several to choose
// from.  A file without a prefix table has one list, which serves every prefix.
absl::StatusOr<SelectedArrays> SelectArrays(const TensorstoreIndex& index, std::string_view prefix);

// The components of a record's key, without those of `prefix` if it begins with them.  Dots and
// slashes both separate the components of a prefix, as eformer stores either as a folder.
std::vector<std::string> KeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_INDEX_FILE_H_
