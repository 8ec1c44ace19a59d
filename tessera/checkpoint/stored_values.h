// Stored values held against what is written down of them.
#ifndef TESSERA_CHECKPOINT_STORED_VALUES_H_
#define TESSERA_CHECKPOINT_STORED_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/stored_value.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/manifest.h"
#include "tessera/store/kv_store.h"

namespace tessera::checkpoint {

// The key of what lies below a path, where "" is the root.
std::string KeyBelow(std::string_view path, std::string_view name);

// Index and manifest call the checkpoint's own folder ".", a store calls it "".
std::string PathInStore(std::string_view path);

// Where seals lie: one for each prefix, "" for the arrays without one.
std::string SealKey(std::string_view prefix);

// The prefix whose seal has this key; nullopt for other keys, and where only a hash is known.
std::optional<std::string> PrefixOfSeal(std::string_view key);

// What Manifest::id is in a seal.
inline constexpr std::string_view kSealId = "seal";

// The keys of all seals.
absl::StatusOr<std::vector<std::string>> ListSeals(store::KvStore& store,
                                                   std::stop_token stop = {});

// Manifests that are there, though the index does not name them and no save is under way that would
// have written them.  Commits leave none behind.
absl::StatusOr<std::vector<std::string>> OrphanManifests(store::KvStore& store,
                                                         const ledger::TensorstoreIndex& index,
                                                         std::stop_token stop = {});

// nullopt: there is no such value.  DataLoss or InvalidArgument, beginning with where it is, for
// what is no manifest.
absl::StatusOr<std::optional<ledger::Manifest>> ReadManifest(store::KvStore& store,
                                                             const std::string& key,
                                                             std::stop_token stop = {});

// The safetensors file whose header has this key in the unfolded store; nullopt for other keys.
std::optional<std::string> HeaderFile(std::string_view key);

// The safetensors files whose headers a manifest has; none when it is that of zarr arrays.
std::vector<std::string> FilesOfSet(const ledger::Manifest& manifest);

// Why stored values may differ from what is written down of them, and what to do then.
inline constexpr std::string_view kDamagedOrReplaced =
    "it is damaged, or another program saved here since (then seal it again)";

// What counts for a prefix.
struct Vouching {
  std::string key;
  bool is_seal = false;
  std::optional<ledger::Manifest> manifest = {};  // nullopt: there is no such value
};

// The seal that was made in place of the manifest `noted`, which the index names for `prefix`; else
// that manifest.  Errors of ReadManifest.
absl::StatusOr<Vouching> FindVouching(store::KvStore& store, std::string_view prefix,
                                      const std::string& noted, std::stop_token stop = {});

// Size and hash of a value, read in pieces; nullopt when there is none.  OutOfRange when it has
// more than `most` bytes.
absl::StatusOr<std::optional<StoredValue>> HashStored(store::KvStore& store, const std::string& key,
                                                      uint64_t most, std::span<std::byte> room,
                                                      std::stop_token stop = {});

// What is wrong with a value; empty: nothing.
std::string Difference(const std::optional<StoredValue>& found, const StoredValue& expected);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_STORED_VALUES_H_
