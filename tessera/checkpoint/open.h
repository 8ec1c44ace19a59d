// Checkpoint: what is stored in a folder, known without having read any data.
#ifndef TESSERA_CHECKPOINT_OPEN_H_
#define TESSERA_CHECKPOINT_OPEN_H_

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/checkpoint_array.h"
#include "tessera/checkpoint/detect_format.h"
#include "tessera/core/io_context.h"
#include "tessera/ledger/structure.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

struct OpenOptions {
  std::string prefix = {};
  // The arrays of every prefix, under keys that begin with it.
  bool all_prefixes = false;
  // Reads the manifest and holds the metadata documents against it.
  bool verify = true;
  // Takes the metadata documents that the manifest holds as they are, without reading those of the
  // arrays: for who looks at what was saved, and reads no data.
  bool metadata_of_manifest = false;
  // The safetensors file, or index of some, in the folder that is meant; empty: what DetectFormat
  // finds.
  std::string file = {};
};

// Who vouches for the bytes.
enum class Integrity {
  kNone,      // nobody
  kManifest,  // the save that wrote them
  kSeal,      // who found them there
};

// A value; copies share everything.  It sees the state that was there when it was opened.
class Checkpoint {
 public:
  // Reads index, manifest and every metadata document or header, on the pool of `io`.  `store`
  // outlives the checkpoint.  The format is found out (detect_format.h).
  //
  // NotFound when there is nothing; Unimplemented for an OCDBT store; InvalidArgument as
  // DetectFormat, DecodeIndexFile and EntriesOfIndex; FailedPrecondition, naming both, when the
  // index says another shape or dtype than the metadata; DataLoss when manifest, index and metadata
  // or headers are not those that were written together, or a listed array has no metadata.  Those
  // of FileSet.
  static absl::StatusOr<Checkpoint> Open(store::KvStore& store, IoContext& io,
                                         const OpenOptions& options = {},
                                         std::stop_token stop = {});

  // The same with a store of its own; see open_location.h for what `location` may be.  That of a
  // file means options.file.
  static absl::StatusOr<Checkpoint> OpenAt(std::string_view location, IoContext& io,
                                           const OpenOptions& options = {},
                                           std::stop_token stop = {});

  // In the order of the index, or by path where there is none.
  std::span<const CheckpointArray> arrays() const { return data_->arrays; }
  const std::string& prefix() const { return data_->prefix; }
  // That the index lists, "" for arrays without one; empty where there is no index of prefixes.
  const std::vector<std::string>& prefixes() const { return data_->prefixes; }
  // Of the tree that was saved, where the writer kept it and one prefix was opened; its arrays are
  // numbered as arrays() is.
  const std::optional<ledger::SavedTree>& structure() const { return data_->structure; }
  Format format() const { return data_->format; }
  // That the index names; empty where there is none of tensorstore.
  const std::string& index_version() const { return data_->index_version; }
  bool has_index() const { return data_->has_index; }
  // What a writer has put into the headers of safetensors files: the members of `__metadata__` of
  // the first one, then those of the index that it does not have.  Empty for other formats.
  const std::vector<std::pair<std::string, std::string>>& header_metadata() const {
    return data_->header_metadata;
  }
  // nullptr: it is not of safetensors files.
  const safetensors::FileSet* file_set() const { return data_->set.get(); }
  Integrity integrity() const { return data_->integrity; }
  // Names the state; another one after the next commit.
  const std::string& state_id() const { return data_->state_id; }
  // Where the data is read from.
  store::KvStore& store() const { return *data_->view; }

  // Aborted when another state is there by now, which explains data that is gone.
  absl::Status CheckUnchanged(std::stop_token stop = {}) const;

 private:
  friend class Opener;
  struct Data {
    std::shared_ptr<store::KvStore> own;  // before what reads through it
    store::KvStore* base = nullptr;
    std::shared_ptr<store::KvStore> view;
    std::string state_id;
    Format format = Format::kTensorstore;
    bool has_index = false;
    std::string index_version;
    std::vector<std::pair<std::string, std::string>> header_metadata;
    Integrity integrity = Integrity::kNone;
    std::string prefix;
    std::vector<std::string> prefixes;
    std::shared_ptr<const safetensors::FileSet> set;
    std::vector<CheckpointArray> arrays;
    std::optional<ledger::SavedTree> structure;
  };
  explicit Checkpoint(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_OPEN_H_
