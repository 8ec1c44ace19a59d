// Manifest: every value that a saved prefix consists of, with its size and hash.
//
// A chunk that is lost reads as zeros in zarr, and a damaged one may decode; what is written down
// here is what tells.  Layout: FORMAT.md, "Manifest".  Pure: text in, values out.
#ifndef TESSERA_LEDGER_MANIFEST_H_
#define TESSERA_LEDGER_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/hash128.h"

namespace tessera::ledger {

// One stored value.
struct StoredRecord {
  std::string name;  // of a chunk: below its array's path; of a file: from the checkpoint's root
  uint64_t size = 0;
  Hash128 hash = {};
  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

struct ArrayManifest {
  std::string path;                  // from the checkpoint's root, which is "." itself
  std::string metadata_name;         // ".zarray", "zarr.json" or "tensor.json"
  std::string metadata;              // the document as stored
  std::vector<StoredRecord> chunks;  // all that must exist, by cell in C order
  friend bool operator==(const ArrayManifest&, const ArrayManifest&) = default;
};

struct Manifest {
  std::string id;             // of the save that made it; "seal" for one made of what was found
  std::string prefix;         // empty: none
  Hash128 index_digest = {};  // what the index says of the prefix (IndexDigest); zeros: no index
  std::vector<ArrayManifest> arrays = {};  // in the order of the index
  std::vector<StoredRecord> files = {};    // others that belong to the prefix alone
  // Of a seal: the key of the manifest that it counts instead of, as another program has replaced
  // what a save of ours wrote.  Empty: there was none.
  std::string replaces = {};
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// A JSON document whose first line holds the hash of everything after it, so that no flipped byte
// goes unseen.  Equal metadata documents are written once.  InvalidArgument for text that is not
// UTF-8.
absl::StatusOr<std::string> EncodeManifest(const Manifest& manifest);

// DataLoss when the first line is not that of a manifest or the text is not what it says;
// InvalidArgument, naming the field, for wrong fields, unsafe or repeated paths and names.
absl::StatusOr<Manifest> DecodeManifest(std::string_view text);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_MANIFEST_H_
