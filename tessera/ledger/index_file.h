// tensorstore_index.json: the list of arrays that eformer keeps beside a checkpoint.
#ifndef TESSERA_LEDGER_INDEX_FILE_H_
#define TESSERA_LEDGER_INDEX_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/hash128.h"
#include "tessera/core/shape.h"
#include "tessera/ledger/manifest.h"
#include "tessera/ledger/structure.h"

namespace tessera::ledger {

// One array.
struct ArrayRecord {
  std::string path;  // relative to the checkpoint, with '/'; "." is the checkpoint itself
  Dims shape;
  std::string dtype;  // a NumPy / ml_dtypes name; informative
  // The key path, where the writer was tessera; other writers' paths are split at '/'.
  std::optional<std::vector<std::string>> key = {};
  friend bool operator==(const ArrayRecord&, const ArrayRecord&) = default;
};

// What tessera keeps of one prefix beside its list; other readers pass over it.
struct PrefixNote {
  std::string manifest;  // its key in the checkpoint's store; empty: none
  int64_t nbytes = 0;    // of all arrays
  // nullopt: nested dicts by the keys.  Also where another program has replaced the list since.
  std::optional<SavedTree> structure = {};
  friend bool operator==(const PrefixNote&, const PrefixNote&) = default;
};

// The whole file.  `version` is information: what the file holds decides how it is read.
struct TensorstoreIndex {
  std::string version;
  // Lists by prefix, as written; nullopt in files from before there were prefixes.
  std::optional<std::vector<std::pair<std::string, std::vector<ArrayRecord>>>> prefixes = {};
  // The list of a tree saved without a prefix.
  std::optional<std::vector<ArrayRecord>> arrays = {};
  // Member "tessera".  Notes by prefix, "" for the list without one; and the files that all
  // prefixes share, as the last save left them.
  std::vector<std::pair<std::string, PrefixNote>> notes = {};
  std::vector<StoredRecord> files = {};
  friend bool operator==(const TensorstoreIndex&, const TensorstoreIndex&) = default;
};

inline constexpr std::string_view kIndexName = "tensorstore_index.json";

// InvalidArgument when `text` is not JSON, its format is not "tensorstore" or a field is wrong;
// the message names the field.  Paths are not judged: CheckRecords does, for the list that is used.
absl::StatusOr<TensorstoreIndex> DecodeIndexFile(std::string_view text);

// For a list whose arrays are to be read: InvalidArgument, with the number of the entry, for a path
// that is unsafe (absolute, with "..", empty or "." parts or NUL, of a lock file, or among
// tessera's own files) or lies inside another.  The same path twice is no error: the later counts.
absl::Status CheckRecords(std::span<const ArrayRecord> records);

// What a save changes in an index.
struct IndexChange {
  std::string prefix;  // empty: the list without one
  std::vector<ArrayRecord> arrays;
  PrefixNote note;
  std::vector<StoredRecord> files = {};  // that replace those of the same name
  friend bool operator==(const IndexChange&, const IndexChange&) = default;
};

// The index after a save, as eformer writes it (Python's json with indent 2, no final newline).
// `before` is the text of the one that is there, of which everything else is kept: other prefixes,
// version, members of other writers.  Applying a change twice is applying it once.  Errors of
// DecodeIndexFile for `before`; errors of CheckRecords for the list; InvalidArgument, naming both,
// when a path of `change` is, or lies inside, one of another prefix, or the other way round.
absl::StatusOr<std::string> ApplyIndexChange(std::optional<std::string_view> before,
                                             const IndexChange& change);

// A change as one line of JSON, for the record of a commit.  InvalidArgument for text that is not
// UTF-8 and a structure that cannot be kept.
absl::StatusOr<std::string> EncodeIndexChange(const IndexChange& change);
absl::StatusOr<IndexChange> DecodeIndexChange(std::string_view text);

// Of all that the index says of a prefix: format, version, list and note.  Zeros when it says
// nothing of it.  In a file without a prefix table the one list counts for every prefix.
Hash128 IndexDigest(const TensorstoreIndex& index, std::string_view prefix);

// The arrays of one prefix.
struct SelectedArrays {
  std::string prefix;                   // empty: none
  std::span<const ArrayRecord> arrays;  // of the index
};

// The list that `prefix` asks for.  Without one: the unprefixed list, else the only prefix there
// is.  InvalidArgument with the known prefixes when there is no such one, or several to choose
// from.  A file without a prefix table has one list, which serves every prefix.
absl::StatusOr<SelectedArrays> SelectArrays(const TensorstoreIndex& index, std::string_view prefix);

// The components of a record's key, without those of `prefix` if it begins with them.  Dots and
// slashes both separate the components of a prefix, as eformer stores either as a folder.
std::vector<std::string> KeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix);

// The same looking at the record, for who has very many.
using KeyView = absl::InlinedVector<std::string_view, 4>;
KeyView ViewKeyWithoutPrefix(const ArrayRecord& record, std::string_view prefix);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_INDEX_FILE_H_
