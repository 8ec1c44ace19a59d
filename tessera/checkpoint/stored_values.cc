#include "tessera/checkpoint/stored_values.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/unfolded_store.h"
#include "tessera/tree/stored_path.h"

namespace tessera::checkpoint {
namespace {

constexpr std::string_view kSealEnd = ".json";

std::string SealFolder() { return Concat(commit::kOwnFolder, "seals/"); }

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
  return Concat(SealFolder(), stem, kSealEnd);
}

std::optional<std::string> PrefixOfSeal(std::string_view key) {
  const std::string folder = SealFolder();
  if (!key.starts_with(folder) || !key.ends_with(kSealEnd)) return std::nullopt;
  key.remove_prefix(folder.size());
  if (key.size() < kSealEnd.size()) return std::nullopt;
  key.remove_suffix(kSealEnd.size());
  auto components = tree::DecodeStoredPath(key);
  if (!components.ok() || components->size() != 1) return std::nullopt;
  return std::move(components->front());
}

absl::StatusOr<std::vector<std::string>> ListSeals(store::KvStore& store, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries, store.List(SealFolder(), std::move(stop)));
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

std::optional<std::string> HeaderFile(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos || key.substr(slash + 1) != safetensors::kHeaderName) {
    return std::nullopt;
  }
  return std::string(key.substr(0, slash));
}

std::vector<std::string> FilesOfSet(const ledger::Manifest& manifest) {
  std::vector<std::string> files;
  for (const ledger::StoredRecord& record : manifest.files) {
    auto file = HeaderFile(record.name);
    if (file.has_value()) files.push_back(*std::move(file));
  }
  return files;
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

std::string Difference(const std::optional<StoredValue>& found, const StoredValue& expected) {
  if (!found.has_value()) return Concat("missing; it had ", expected.size, " bytes");
  if (found->size != expected.size) {
    return Concat("found ", found->size, " bytes, expected ", expected.size);
  }
  if (found->hash == expected.hash) return "";
  return Concat("its bytes have changed: their hash is ", found->hash.Hex(), ", expected ",
                expected.hash.Hex());
}

}  // namespace tessera::checkpoint
