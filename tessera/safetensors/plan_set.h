// SetPlan: the files that a list of tensors becomes, as plain data.
#ifndef TESSERA_SAFETENSORS_PLAN_SET_H_
#define TESSERA_SAFETENSORS_PLAN_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/shard_layout.h"

namespace tessera::safetensors {

struct NewTensor {
  std::string name;
  ShapeDtype about;
  friend bool operator==(const NewTensor&, const NewTensor&) = default;
};

// How tensors are packed into files.
enum class Packing {
  kInOrder,   // GroupKeysByShardSize, as eformer and transformers do
  kByParent,  // OptimizeShardLayout
};

struct SetOptions {
  std::string stem = "model";
  // The most tensor bytes of a file; nullopt: one file and no index.
  std::optional<int64_t> shard_bytes = {};
  Packing packing = Packing::kInOrder;
  // In every file; sorted by name when written.  Values of any text.
  std::vector<std::pair<std::string, std::string>> metadata = {};
  uint64_t alignment = 8;  // of the data section
};

struct PlannedFile {
  std::string name;
  Header header;
  std::string header_bytes;  // as EncodeHeader makes them
  uint64_t size = 0;         // of the whole file
  friend bool operator==(const PlannedFile&, const PlannedFile&) = default;

  uint64_t data_begin() const { return header_bytes.size(); }
};

struct SetPlan {
  std::string name;  // of the file that stands for the set: the index, or the only file
  std::vector<PlannedFile> files;
  std::optional<std::string> index_text = {};  // of sharded sets, as transformers writes it
  std::vector<std::pair<size_t, size_t>>
      places;          // of each tensor given: file, tensor in its header
  int64_t nbytes = 0;  // of all tensors
  friend bool operator==(const SetPlan&, const SetPlan&) = default;
};

// `<stem>.safetensors`, or `<stem>-00001-of-0000N.safetensors` and `<stem>.safetensors.index.json`
// (with shard_bytes also when N is 1).  Within a file tensors lie as the reference puts them: wide
// dtypes first, then by name.  Unimplemented, naming every key, for dtypes without a code.
// InvalidArgument, naming every key, for names that are taken twice, are "__metadata__" or are not
// UTF-8; for a stem with a separator; errors of StoredBytes and of the packing.
absl::StatusOr<SetPlan> PlanSet(const std::vector<NewTensor>& tensors, const SetOptions& options);

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_PLAN_SET_H_
