// <stem>.safetensors.index.json: which file of a sharded set holds which tensor.
#ifndef TESSERA_SAFETENSORS_INDEX_FILE_H_
#define TESSERA_SAFETENSORS_INDEX_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"

namespace tessera::safetensors {

struct IndexFile {
  // Member "metadata.total_size": bytes of all tensors.
  std::optional<int64_t> total_size = {};
  // The other members of "metadata", of any kind, as the text of a JSON object by name; "{}" for
  // none.
  std::string metadata = "{}";
  // Tensor and file, in the order of the file.
  std::vector<std::pair<std::string, std::string>> weight_map = {};
  friend bool operator==(const IndexFile&, const IndexFile&) = default;
};

inline constexpr uint64_t kMaxIndexBytes = 256'000'000;

// InvalidArgument, naming the member, when `text` is not JSON or not such a file, when a tensor
// stands there twice, and for a file name that is absolute, has a separator, is "..", "." or empty,
// or has a NUL.  total_size is information: one that is no integer is kept among the metadata.
// Other members of the file are passed over.
absl::StatusOr<IndexFile> DecodeIndexFile(std::string_view text);

// As transformers writes it: two spaces, everything by name (so "metadata" first), all but ASCII
// escaped, and a newline at the end.  InvalidArgument when a text is not UTF-8, a tensor stands
// there twice or the metadata are no JSON object.
absl::StatusOr<std::string> EncodeIndexFile(const IndexFile& index);

// Whether `text` begins as a JSON object with a weight_map: what such a file is told by.  What
// stands behind it is not looked at.
bool LooksLikeIndexFile(std::string_view text);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_INDEX_FILE_H_
