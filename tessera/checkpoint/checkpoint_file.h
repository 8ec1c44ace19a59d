// save_checkpoint and load_checkpoint of eformer's CheckpointManager: flat safetensors by the path
// of one file.
#ifndef TESSERA_CHECKPOINT_CHECKPOINT_FILE_H_
#define TESSERA_CHECKPOINT_CHECKPOINT_FILE_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/shard_and_gather.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_process_array.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/save_report.h"
#include "tessera/checkpoint/saver.h"

namespace tessera::checkpoint {

struct SaveCheckpointFileOptions {
  // Applied first; with true, or with stores that cannot write parts of a file, rank 0 writes all.
  array::GatherFunctions gather = false;
  bool mismatch_allowed = true;
  // What floats are stored as; nullopt: as they are.
  std::optional<DType> float_dtype = DType::kBfloat16;
  // nullopt: one file.
  std::optional<int64_t> shard_bytes = int64_t{5} << 30;
  std::vector<std::pair<std::string, std::string>> metadata = {};  // in every file
  LentResources lent = {};
};

struct SavedCheckpointFile {
  std::string path;  // of the file, or of the index
  SaveReport report;
};

// Writes the arrays of `tree` as `<stem>.safetensors`, or as shards and their index, where the path
// without its ending and numbering is the stem's.  Waits for the commit.  Errors of GatherTree and
// Saver::Start.
absl::StatusOr<SavedCheckpointFile> SaveCheckpointFile(
    std::string_view path, const array::ValueTree& tree,
    const SaveCheckpointFileOptions& options = {}, std::stop_token stop = {});

struct LoadedCheckpointFile {
  array::ValueTree tree;                                           // nested dicts by the keys
  int64_t mismatches = 0;                                          // keys without a function
  std::vector<std::pair<std::string, std::string>> metadata = {};  // of the files' headers
};

// `path` is that of a file, of an index, or of one of the shards that an index beside it names,
// which stands for the whole set.  Every array is read to host memory, then ReadProcessArray is
// done with it.  Errors of Checkpoint::OpenAt and ReadProcessArray.
absl::StatusOr<LoadedCheckpointFile> LoadCheckpointFile(std::string_view path,
                                                        const ReadProcessArrayOptions& options = {},
                                                        const LentResources& lent = {},
                                                        std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_CHECKPOINT_FILE_H_
