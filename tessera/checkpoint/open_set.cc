#include "tessera/checkpoint/open_set.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/tensor_keys.h"
#include "tessera/core/hash128.h"
#include "tessera/core/json.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/unfolded_store.h"

namespace tessera::checkpoint {
namespace {

using safetensors::FileSet;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// The manifest of a set, held against its headers and its index.
class SetManifest {
 public:
  SetManifest(store::KvStore& store, const FileSet& set, std::stop_token stop)
      : store_(store), set_(set), key_(SealKey(set.name())), stop_(std::move(stop)) {}

  // nullptr: there is none.
  absl::StatusOr<std::shared_ptr<const ledger::Manifest>> Read() {
    TESSERA_ASSIGN_OR_RETURN(auto manifest, ReadManifest(store_, key_, stop_));
    if (!manifest.has_value()) return nullptr;
    if (manifest->prefix != set_.name()) {
      return DataLoss(store_.Describe(key_), ": it is the manifest of ", Quoted(manifest->prefix),
                      ", expected that of ", Quoted(set_.name()));
    }
    TESSERA_RETURN_IF_ERROR(CheckFiles(*manifest));
    return std::make_shared<const ledger::Manifest>(*std::move(manifest));
  }

 private:
  absl::Status CheckFiles(const ledger::Manifest& manifest) {
    const std::vector<std::string> known = FilesOfSet(manifest);
    for (const safetensors::SetFile& file : set_.files()) {
      if (std::find(known.begin(), known.end(), file.name) != known.end()) continue;
      return DataLoss(store_.Describe(file.name), ": the manifest does not have this file; ",
                      kDamagedOrReplaced);
    }
    for (const ledger::StoredRecord& file : manifest.files) {
      const std::string name = safetensors::FileOfKey(set_, file.name);
      // Files that a save has put beside them hold nothing that a load needs.
      const bool is_header = HeaderFile(file.name).has_value();
      if (!is_header && name != set_.name()) continue;
      TESSERA_ASSIGN_OR_RETURN(const auto found, Hash(name, file.name));
      const std::string wrong = Difference(found, {file.size, file.hash});
      if (wrong.empty()) continue;
      return DataLoss(store_.Describe(name), name == file.name ? "" : ": its header", ": ", wrong,
                      "; ", kDamagedOrReplaced);
    }
    return absl::OkStatus();
  }

  // Of the header where the key is not that of the file.
  absl::StatusOr<std::optional<StoredValue>> Hash(const std::string& name, const std::string& key) {
    uint64_t bytes = 0;
    for (const safetensors::SetFile& file : set_.files()) {
      if (name != key && file.name == name) bytes = file.data_begin;
    }
    if (bytes == 0) return HashStored(store_, key, safetensors::kMaxIndexBytes, room_, stop_);
    Hasher128 hasher;
    TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                             store_.ReadPieces(
                                 name, {0, bytes}, room_,
                                 [&](std::span<const std::byte> piece) {
                                   hasher.Update(piece);
                                   return absl::OkStatus();
                                 },
                                 stop_));
    if (info.missing()) return std::nullopt;
    return StoredValue{bytes, hasher.Finish()};
  }

  store::KvStore& store_;
  const FileSet& set_;
  const std::string key_;
  const std::stop_token stop_;
  std::vector<std::byte> room_ = std::vector<std::byte>(kPieceBytes);
};

using ArrayManifests = absl::flat_hash_map<std::string_view, const ledger::ArrayManifest*>;

ArrayManifests ByPath(const ledger::Manifest& manifest) {
  ArrayManifests arrays;
  arrays.reserve(manifest.arrays.size());
  for (const ledger::ArrayManifest& array : manifest.arrays) arrays.emplace(array.path, &array);
  return arrays;
}

absl::Status UseManifest(const std::shared_ptr<const ledger::Manifest>& manifest,
                         std::vector<CheckpointArray>& arrays) {
  const ArrayManifests known = ByPath(*manifest);
  for (CheckpointArray& array : arrays) {
    const auto found = known.find(array.path);
    if (found == known.end()) {
      return DataLoss("array ", Quoted(array.name), ": ", array.tensor()->file().name,
                      " holds it, the manifest does not");
    }
    array.manifest = std::shared_ptr<const ledger::ArrayManifest>(manifest, found->second);
  }
  return absl::OkStatus();
}

// The tensors whose names begin with `begin`.
absl::StatusOr<std::vector<CheckpointArray>> ArraysOf(std::shared_ptr<const FileSet> set,
                                                      std::string_view begin) {
  std::vector<std::string_view> names;
  std::vector<safetensors::TensorPlace> places;
  for (const safetensors::TensorPlace& place : set->tensors()) {
    const std::string_view name = set->TensorOf(place).name;
    if (!name.starts_with(begin)) continue;
    names.push_back(name.substr(begin.size()));
    places.push_back(place);
  }
  if (names.empty() && !begin.empty()) {
    return NotFound(set->name(), ": no tensor has a name that begins with ", Quoted(begin));
  }
  std::vector<std::vector<std::string>> keys = KeysOfTensors(names);
  std::vector<CheckpointArray> arrays(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const safetensors::Tensor& tensor = set->TensorOf(places[i]);
    arrays[i].key = std::move(keys[i]);
    arrays[i].name = names[i];
    arrays[i].path = safetensors::UnfoldedPath(set->FileOf(places[i]).name, tensor.name);
    arrays[i].source =
        TensorSource{set, places[i], safetensors::BlockShape(tensor.shape, tensor.dtype)};
  }
  return arrays;
}

// What the header says counts more than what the index does.
absl::StatusOr<Pairs> MetadataOf(const FileSet& set) {
  Pairs metadata;
  if (!set.files().empty()) metadata = set.files().front().header->metadata;
  if (!set.index().has_value()) return metadata;
  const auto add = [&](const std::string& name, std::string value) {
    const auto same = [&](const auto& pair) { return pair.first == name; };
    if (std::any_of(metadata.begin(), metadata.end(), same)) return;
    metadata.emplace_back(name, std::move(value));
  };
  if (set.index()->total_size.has_value()) add("total_size", Concat(*set.index()->total_size));
  TESSERA_ASSIGN_OR_RETURN(const Json others, ParseJson(set.index()->metadata));
  for (const auto& [name, value] : others.items()) {
    add(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return metadata;
}

}  // namespace

absl::StatusOr<FileSet> OpenFileSet(store::KvStore& store, std::span<const std::string> files,
                                    IoContext& io, std::stop_token stop) {
  if (files.size() == 1) return FileSet::Open(store, files.front(), io, std::move(stop));
  return FileSet::OpenFiles(store, files, io, std::move(stop));
}

absl::StatusOr<OpenedSet> OpenSet(store::KvStore& store, std::span<const std::string> files,
                                  std::string_view prefix, bool verify, IoContext& io,
                                  std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(FileSet set, OpenFileSet(store, files, io, stop));
  OpenedSet opened;
  opened.set = std::make_shared<const FileSet>(std::move(set));
  TESSERA_ASSIGN_OR_RETURN(opened.metadata, MetadataOf(*opened.set));
  TESSERA_ASSIGN_OR_RETURN(
      opened.arrays, ArraysOf(opened.set, prefix.empty() ? std::string() : Concat(prefix, ".")));
  if (!verify) return opened;
  TESSERA_ASSIGN_OR_RETURN(opened.manifest,
                           SetManifest(store, *opened.set, std::move(stop)).Read());
  if (opened.manifest != nullptr) {
    TESSERA_RETURN_IF_ERROR(UseManifest(opened.manifest, opened.arrays));
  }
  return opened;
}

std::string StateOf(const FileSet& set) {
  std::string text;
  for (const safetensors::SetFile& file : set.files()) {
    text += Concat(file.name, "\n", file.generation.token, "\n");
  }
  return HashOf(text).Hex();
}

absl::Status CheckFilesUnchanged(store::KvStore& store, const FileSet& set,
                                 const std::stop_token& stop) {
  for (const safetensors::SetFile& file : set.files()) {
    TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo now, store.ReadInto(file.name, 0, {}, stop));
    if (now.generation != file.generation) {
      return Aborted(store.Describe(file.name), ": it was replaced while it was read");
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera::checkpoint
