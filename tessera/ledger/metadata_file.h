// checkpoint_metadata.json and metadata.json: what eformer keeps beside the arrays of a checkpoint,
// and in the directory of one step of a run.
#ifndef TESSERA_LEDGER_METADATA_FILE_H_
#define TESSERA_LEDGER_METADATA_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/ledger/timestamp.h"

namespace tessera::ledger {

inline constexpr std::string_view kCheckpointMetadataName = "checkpoint_metadata.json";
inline constexpr std::string_view kRunMetadataName = "metadata.json";

struct SavedArrayType {
  std::string dtype;  // a NumPy / ml_dtypes name
  Dims shape;
  friend bool operator==(const SavedArrayType&, const SavedArrayType&) = default;
};

// checkpoint_metadata.json.  Arrays go by their dotted key without the prefix.
struct CheckpointMetadata {
  std::string version;
  std::string timestamp;                             // as written; see ParseTimestamp
  std::map<std::string, std::string> checksum = {};  // SHA-256 of the elements, 64 digits
  std::map<std::string, SavedArrayType> array_metadata = {};
  std::optional<std::string> framework_version = {};
  std::string custom_metadata = "{}";  // the caller's, as one line of JSON
  friend bool operator==(const CheckpointMetadata&, const CheckpointMetadata&) = default;
};

// What new files, the index too, name as their version: who wrote them.  Readers pass over it.
std::string_view WriterVersion();

// One line, as save_tree writes it.  InvalidArgument when custom_metadata is not JSON (the tokens
// NaN and Infinity are taken, as Python writes them) or text is not UTF-8.
absl::StatusOr<std::string> EncodeCheckpointMetadata(const CheckpointMetadata& metadata);

// InvalidArgument, naming the field, for what is no JSON object or has a field of another type.
// Fields may be missing; those not listed above are passed over.
absl::StatusOr<CheckpointMetadata> DecodeCheckpointMetadata(std::string_view text);

// metadata.json: that a step of a run is complete.
struct RunMetadata {
  int64_t step = 0;
  std::string timestamp;  // as written
  Timestamp time = {};    // what `timestamp` says; not written
  bool is_temporary = false;
  friend bool operator==(const RunMetadata&, const RunMetadata&) = default;
};

// One line.  InvalidArgument for text that is not UTF-8.
absl::StatusOr<std::string> EncodeRunMetadata(const RunMetadata& metadata);

// InvalidArgument, naming the field; only is_temporary may be missing.
absl::StatusOr<RunMetadata> DecodeRunMetadata(std::string_view text);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_METADATA_FILE_H_
