// Which format a folder holds, told by what is in its files: names are only where to look.
//
// Looking and deciding are apart: what was found is a value, and so is the answer.
#ifndef TESSERA_CHECKPOINT_DETECT_FORMAT_H_
#define TESSERA_CHECKPOINT_DETECT_FORMAT_H_

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/commit/view.h"
#include "tessera/core/io_context.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// How a folder holds arrays.
enum class Format {
  kTensorstore,  // zarr arrays and an index of them
  kSafetensors,  // a file, or many and an index
  kZarr,         // arrays that are found by looking for them
};

// "tensorstore", "safetensors" or "zarr".
std::string_view FormatName(Format format);

// Safetensors files that belong together, as an index says, or what vouches for them.
struct FoundSet {
  std::string name;                     // of the file that stands for them
  std::vector<std::string> files = {};  // with tensors
  bool has_index = true;                // `name` is that of an index
  bool readable = true;                 // else nobody knows its files
  friend bool operator==(const FoundSet&, const FoundSet&) = default;
};

// What lies in a folder itself, not below it.
struct FolderFacts {
  std::vector<FoundSet> sets = {};
  std::vector<std::string> tensor_files = {};  // safetensors, by name
  friend bool operator==(const FolderFacts&, const FolderFacts&) = default;
};

// One index, with the files that it names; or one file; or all of `x-00001-of-0000N.safetensors`,
// which are one set also without an index: the names to open.  None: there is no safetensors file.
// InvalidArgument, naming them, when there is more than one such thing.
absl::StatusOr<std::vector<std::string>> DecideSet(const FolderFacts& facts);

struct Detected {
  Format format = Format::kZarr;
  std::vector<std::string> files = {};         // of kSafetensors: an index, or files
  std::vector<store::ListEntry> listing = {};  // of kZarr: all that the folder holds
};

// What is in the files of the folder, first bytes and indexes; without `unfinished` ones.
absl::StatusOr<FolderFacts> LookAtFiles(store::KvStore& store,
                                        std::span<const store::ListEntry> listing,
                                        std::span<const std::string> unfinished, IoContext& io,
                                        std::stop_token stop = {});

// The file that is asked for; else, in this order: the index of tensorstore, what DecideSet finds,
// zarr.  A set that a manifest vouches for counts also when its own files are damaged or gone, so
// that the rest of them cannot pass for another set.  Errors of DecideSet, beginning with the
// folder.
absl::StatusOr<Detected> DetectFormat(const commit::View& view, std::string_view file,
                                      IoContext& io, std::stop_token stop = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_DETECT_FORMAT_H_
