#include "tessera/checkpoint/stored_values.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {
namespace {

// More is no manifest but an attempt on our memory.
constexpr uint64_t kMostManifestBytes = uint64_t{4} << 30;

}  // namespace

std::string KeyBelow(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : Concat(path, "/", name);
}

std::string PathInStore(std::string_view path) { return std::string(path == "." ? "" : path); }

std::string SealKey(std::string_view prefix) {
  const std::string component(prefix);
  const auto name = tree::EncodeStoredPath(std::span(&component, 1));
  // A prefix that no file can be called after is known by its hash.
  const std::string stem = name.ok() ? *name : HashOf(prefix).Hex();
  return Concat(commit::kOwnFolder, "seals/", stem, ".json");
}

absl::StatusOr<std::vector<std::string>> ListSeals(store::KvStore& store, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries,
                           store.List(Concat(commit::kOwnFolder, "seals/"), std::move(stop)));
  std::vector<std::string> keys;
  for (const store::ListEntry& entry : entries) keys.push_back(entry.key);
  return keys;
}

absl::StatusOr<std::vector<std::string>> OrphanManifests(store::KvStore& store,
                                                         const ledger::TensorstoreIndex& index,
                                                         std::stop_token stop) {
  absl::flat_hash_set<std::string> known;
  for (const auto& [prefix, note] : index.notes) known.insert(note.manifest);
  const std::string folder = Concat(commit::kOwnFolder, "manifests/");
  TESSERA_ASSIGN_OR_RETURN(const auto manifests, store.List(folder, stop));
  std::vector<std::string> orphans;
  for (const store::ListEntry& manifest : manifests) {
    if (known.contains(manifest.key)) continue;
    const std::string save =
        Concat(commit::kOwnFolder, "saves/", std::string_view(manifest.key).substr(folder.size()));
    TESSERA_ASSIGN_OR_RETURN(const store::ReadResult under_way, store.Read(save, {}, stop));
    if (!under_way.value.has_value()) orphans.push_back(manifest.key);
  }
  return orphans;
}

absl::StatusOr<std::optional<ledger::Manifest>> ReadManifest(store::KvStore& store,
                                                             const std::string& key,
                                                             std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(
      const store::ReadResult read,
      store.Read(key, store::ByteRange::AtMost(kMostManifestBytes), std::move(stop)));
  if (!read.value.has_value()) return std::nullopt;
  auto manifest = ledger::DecodeManifest(read.value->text());
  if (!manifest.ok()) return Prefixed(manifest.status(), store.Describe(key));
  return *std::move(manifest);
}

absl::StatusOr<Vouching> FindVouching(store::KvStore& store, std::string_view prefix,
                                      const std::string& noted, std::stop_token stop) {
  Vouching vouching{.key = SealKey(prefix), .is_seal = true};
  TESSERA_ASSIGN_OR_RETURN(vouching.manifest, ReadManifest(store, vouching.key, stop));
  if (vouching.manifest.has_value() && vouching.manifest->replaces == noted) return vouching;
  vouching = {.key = noted};
  TESSERA_ASSIGN_OR_RETURN(vouching.manifest, ReadManifest(store, noted, std::move(stop)));
  return vouching;
}

absl::StatusOr<std::optional<StoredValue>> HashStored(store::KvStore& store, const std::string& key,
                                                      uint64_t most, std::span<std::byte> room,
                                                      std::stop_token stop) {
  Hasher128 hasher;
  TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                           store.ReadPieces(
                               key, store::ByteRange::AtMost(most), room,
                               [&](std::span<const std::byte> piece) {
                                 hasher.Update(piece);
                                 return absl::OkStatus();
                               },
                               std::move(stop)));
  if (info.missing()) return std::nullopt;
  return StoredValue{info.size, hasher.Finish()};
}

}  // namespace tessera::checkpoint
