// The arrays of a safetensors set, and who vouches for them.
#ifndef TESSERA_CHECKPOINT_OPEN_SET_H_
#define TESSERA_CHECKPOINT_OPEN_SET_H_

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/checkpoint_array.h"
#include "tessera/core/io_context.h"
#include "tessera/ledger/manifest.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

struct OpenedSet {
  std::shared_ptr<const safetensors::FileSet> set;
  std::vector<CheckpointArray> arrays;
  std::shared_ptr<const ledger::Manifest> manifest;  // nullptr: none, or it was not asked for
  std::vector<std::pair<std::string, std::string>> metadata;  // of header and index
};

// An index or a file, or several files that are one set.  Errors of FileSet.
absl::StatusOr<safetensors::FileSet> OpenFileSet(store::KvStore& store,
                                                 std::span<const std::string> files, IoContext& io,
                                                 std::stop_token stop = {});

// With a prefix only the tensors whose names begin with it and a dot, under names without it;
// NotFound when there is none.  With `verify` index and headers are held against the manifest,
// where there is one: DataLoss names the file.
absl::StatusOr<OpenedSet> OpenSet(store::KvStore& store, std::span<const std::string> files,
                                  std::string_view prefix, bool verify, IoContext& io,
                                  std::stop_token stop = {});

// Names what the files are; another text after one was replaced.
std::string StateOf(const safetensors::FileSet& set);

// Aborted when a file is not the one whose header was read.
absl::Status CheckFilesUnchanged(store::KvStore& store, const safetensors::FileSet& set,
                                 const std::stop_token& stop);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_OPEN_SET_H_
