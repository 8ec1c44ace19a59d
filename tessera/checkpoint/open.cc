#include "tessera/checkpoint/open.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/open_set.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/commit/transaction.h"
#include "tessera/commit/view.h"
#include "tessera/core/json.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/core/text.h"
#include "tessera/store/concurrent.h"

namespace tessera::checkpoint {

using ManifestPtr = std::shared_ptr<const ledger::Manifest>;

namespace {

// Documents that are equal are parsed once: a model has many layers and few shapes.
class MetadataCache {
 public:
  absl::StatusOr<ZarrSource> Parse(zarr::Format format, std::string_view text) {
    const std::pair<zarr::Format, std::string> key(format, text);
    {
      MutexLock lock(mutex_);
      const auto known = parsed_.find(key);
      if (known != parsed_.end()) return known->second;
    }
    TESSERA_ASSIGN_OR_RETURN(zarr::Metadata metadata, zarr::ParseMetadata(format, text));
    auto shared = std::make_shared<const zarr::Metadata>(std::move(metadata));
    MutexLock lock(mutex_);
    // A million documents that all differ are not kept twice.
    if (parsed_.size() < kMost) parsed_.emplace(key, shared);
    return shared;
  }

 private:
  static constexpr size_t kMost = 4096;
  Mutex mutex_;
  absl::flat_hash_map<std::pair<zarr::Format, std::string>, ZarrSource> parsed_
      ABSL_GUARDED_BY(mutex_);
};

struct Document {
  zarr::Format format = zarr::Format::kV2;
  std::string key;
  Bytes text;
};

// Without a copy, as there may be very many.
Bytes BytesOf(const std::shared_ptr<const ledger::ArrayManifest>& manifest) {
  return Bytes::Borrow(std::as_bytes(std::span(manifest->metadata)), manifest);
}

bool IsGroup(const Document& document) {
  if (document.format != zarr::Format::kV3) return false;
  const auto json = ParseJson(document.text.text());
  return json.ok() && json->is_object() && json->value("node_type", Json()) == "group";
}

// The index is information, the metadata decides; but one of them is then another array's.
absl::Status CheckRecord(const IndexedArray& record, const zarr::Metadata& metadata) {
  if (record.shape == metadata.shape && record.dtype == DTypeName(metadata.dtype)) {
    return absl::OkStatus();
  }
  return FailedPrecondition("the index says ", Quoted(record.dtype), ShapeText(record.shape),
                            ", the metadata says ", Quoted(DTypeName(metadata.dtype)),
                            ShapeText(metadata.shape));
}

}  // namespace

// Goes from the view to the arrays.
class Opener {
 public:
  Opener(IoContext& io, const OpenOptions& options, std::stop_token stop)
      : io_(io), options_(options), stop_(std::move(stop)) {}

  absl::StatusOr<Checkpoint> Open(store::KvStore& store, std::shared_ptr<store::KvStore> own) {
    TESSERA_ASSIGN_OR_RETURN(commit::View view, commit::OpenView(store, stop_));
    TESSERA_ASSIGN_OR_RETURN(const Detected detected,
                             DetectFormat(view, options_.file, io_, stop_));
    data_->own = std::move(own);
    data_->base = &store;
    data_->view = std::move(view.store);
    data_->state_id = view.state_id;
    data_->format = detected.format;
    if (data_->format == Format::kSafetensors) return OpenFiles(detected.files);
    data_->has_index = view.index_text.has_value();
    TESSERA_RETURN_IF_ERROR(ReadIndex(view));
    // Of very many arrays both take long.
    TaskGroup reading(io_.pool(), stop_);
    reading.Run([this](const std::stop_token&) { return ReadNotedManifests(); });
    TESSERA_RETURN_IF_ERROR(FindEntries(view, detected.listing));
    TESSERA_RETURN_IF_ERROR(reading.Join());
    if (options_.verify) TESSERA_RETURN_IF_ERROR(FindManifests());
    TESSERA_RETURN_IF_ERROR(ReadArrays());
    data_->prefix = std::move(entries_.prefix);
    data_->structure = std::move(entries_.structure);
    return Checkpoint(std::move(data_));
  }

 private:
  absl::StatusOr<Checkpoint> OpenFiles(std::span<const std::string> files) {
    const std::string prefix = options_.all_prefixes ? "" : options_.prefix;
    TESSERA_ASSIGN_OR_RETURN(OpenedSet opened,
                             OpenSet(*data_->view, files, prefix, options_.verify, io_, stop_));
    data_->has_index = opened.set->index().has_value();
    data_->prefix = prefix;
    data_->state_id += Concat("-", StateOf(*opened.set));
    if (opened.manifest != nullptr) {
      const bool is_seal = opened.manifest->id == kSealId;
      data_->integrity = is_seal ? Integrity::kSeal : Integrity::kManifest;
    }
    data_->set = std::move(opened.set);
    data_->arrays = std::move(opened.arrays);
    data_->header_metadata = std::move(opened.metadata);
    return Checkpoint(std::move(data_));
  }

  absl::Status ReadIndex(const commit::View& view) {
    if (!view.index_text.has_value()) return absl::OkStatus();
    auto index = ledger::DecodeIndexFile(view.index_text->text());
    if (!index.ok()) {
      return Prefixed(index.status(), data_->view->Describe(ledger::kIndexName));
    }
    index_ = *std::move(index);
    data_->prefixes = PrefixesOf(*index_);
    data_->index_version = index_->version;
    return absl::OkStatus();
  }

  absl::Status FindEntries(const commit::View& view, std::span<const store::ListEntry> listing) {
    if (!index_.has_value()) {
      TESSERA_ASSIGN_OR_RETURN(
          entries_, EntriesOfListing(*data_->view, listing, options_.prefix, options_.all_prefixes,
                                     view.unfinished_paths));
      return absl::OkStatus();
    }
    auto entries = EntriesOfIndex(*index_, options_.prefix, options_.all_prefixes);
    if (!entries.ok()) {
      return Prefixed(entries.status(), data_->view->Describe(ledger::kIndexName));
    }
    entries_ = *std::move(entries);
    return absl::OkStatus();
  }

  // Of the prefixes that may be wanted.  What is wrong with one is told when it is.
  absl::Status ReadNotedManifests() {
    if (!index_.has_value() || !options_.verify) return absl::OkStatus();
    for (const auto& [prefix, note] : index_->notes) {
      const bool may_be_wanted =
          options_.all_prefixes || options_.prefix.empty() || prefix == options_.prefix;
      if (!may_be_wanted || !note.manifest.starts_with(commit::kOwnFolder)) continue;
      noted_.emplace(prefix, FindVouching(*data_->view, prefix, note.manifest, stop_));
    }
    return absl::OkStatus();
  }

  // Those of the notes first: what a save wrote down is nearer to the data than a seal.
  absl::Status FindManifests() {
    if (index_.has_value()) {
      for (const auto& [prefix, note] : index_->notes) {
        if (note.manifest.empty() || !Wanted(prefix)) continue;
        TESSERA_RETURN_IF_ERROR(UseNote(prefix, note));
      }
      TESSERA_RETURN_IF_ERROR(CheckNoOrphans());
    }
    TESSERA_ASSIGN_OR_RETURN(const auto seals, ListSeals(*data_->view, stop_));
    for (const std::string& seal : seals) {
      TESSERA_ASSIGN_OR_RETURN(auto manifest, ReadManifest(*data_->view, seal, stop_));
      if (!manifest.has_value() || !Wanted(manifest->prefix)) continue;
      if (vouched_.contains(manifest->prefix)) continue;
      TESSERA_RETURN_IF_ERROR(CheckDigest(*manifest, seal));
      Use(*std::move(manifest), Integrity::kSeal);
    }
    return absl::OkStatus();
  }

  bool Wanted(const std::string& prefix) const {
    return options_.all_prefixes || !data_->has_index || prefix == entries_.prefix;
  }

  // An index whose own names are damaged could pass for one that names no manifest.
  absl::Status CheckNoOrphans() {
    TESSERA_ASSIGN_OR_RETURN(const auto orphans, OrphanManifests(*data_->view, *index_, stop_));
    if (orphans.empty()) return absl::OkStatus();
    return DataLoss(data_->view->Describe(ledger::kIndexName), ": it does not name the manifest ",
                    Quoted(orphans.front()), "; it is damaged, or a program that does not keep ",
                    "what it does not know has rewritten it");
  }

  absl::Status UseNote(const std::string& prefix, const ledger::PrefixNote& note) {
    if (!note.manifest.starts_with(commit::kOwnFolder)) {
      return InvalidArgument(data_->view->Describe(ledger::kIndexName), ": the manifest ",
                             Quoted(note.manifest), " does not lie in ", commit::kOwnFolder);
    }
    TESSERA_ASSIGN_OR_RETURN(Vouching vouching, std::move(noted_.at(prefix)));
    const std::string where = data_->view->Describe(vouching.key);
    if (!vouching.manifest.has_value()) {
      return DataLoss(where, ": the manifest that the index names is missing");
    }
    if (vouching.manifest->prefix != prefix) {
      return DataLoss(where, ": it is the manifest of prefix ", Quoted(vouching.manifest->prefix),
                      ", expected ", Quoted(prefix));
    }
    TESSERA_RETURN_IF_ERROR(CheckDigest(*vouching.manifest, vouching.key));
    Use(*std::move(vouching.manifest), vouching.is_seal ? Integrity::kSeal : Integrity::kManifest);
    return absl::OkStatus();
  }

  absl::Status CheckDigest(const ledger::Manifest& manifest, const std::string& key) {
    if (manifest.index_digest == Hash128{} || !index_.has_value()) return absl::OkStatus();
    if (manifest.index_digest == ledger::IndexDigest(*index_, manifest.prefix)) {
      return absl::OkStatus();
    }
    return DataLoss(data_->view->Describe(key), ": the index is not the one that this manifest of ",
                    "prefix ", Quoted(manifest.prefix), " belongs to; ", kDamagedOrReplaced);
  }

  void Use(ledger::Manifest manifest, Integrity integrity) {
    const auto shared = std::make_shared<const ledger::Manifest>(std::move(manifest));
    for (const ledger::ArrayManifest& array : shared->arrays) {
      manifests_.try_emplace(PathInStore(array.path),
                             std::shared_ptr<const ledger::ArrayManifest>(shared, &array));
    }
    vouched_.insert(shared->prefix);
    if (data_->integrity == Integrity::kNone) data_->integrity = integrity;
  }

  absl::Status ReadArrays() {
    std::vector<CheckpointArray> arrays(entries_.arrays.size());
    TESSERA_RETURN_IF_ERROR(
        store::ForEachIndex(io_.pool(), io_.pool().size(), arrays.size(), "opening the checkpoint",
                            stop_, [&](size_t i, const std::stop_token& stop) {
                              return ReadArray(entries_.arrays[i], arrays[i], stop);
                            }));
    // Without an index, groups were among the entries.
    std::erase_if(arrays, [](const CheckpointArray& array) { return array.zarr() == nullptr; });
    if (arrays.empty() && !data_->has_index) {
      return NotFound(data_->view->Describe(ledger::kIndexName), ": no index, and only groups");
    }
    data_->arrays = std::move(arrays);
    return absl::OkStatus();
  }

  absl::Status ReadArray(ArrayEntry& entry, CheckpointArray& array, const std::stop_token& stop) {
    const auto known = manifests_.find(entry.path);
    if (known != manifests_.end()) array.manifest = known->second;
    if (array.manifest == nullptr && data_->integrity == Integrity::kManifest &&
        !options_.all_prefixes) {
      return DataLoss("array ", Quoted(entry.path), ": the index lists it, the manifest does not");
    }
    TESSERA_ASSIGN_OR_RETURN(const Document document, ReadDocument(entry, array, stop));
    if (!entry.record.has_value() && IsGroup(document)) return absl::OkStatus();
    if (array.manifest != nullptr && array.manifest->metadata != document.text.text()) {
      return DataLoss("array ", Quoted(entry.path), ": ", data_->view->Describe(document.key),
                      " is not what the manifest says; ", kDamagedOrReplaced);
    }
    auto metadata = cache_.Parse(document.format, document.text.text());
    if (!metadata.ok()) {
      return Prefixed(metadata.status(), data_->view->Describe(document.key));
    }
    if (entry.record.has_value()) {
      TESSERA_RETURN_IF_ERROR(
          Prefixed(CheckRecord(*entry.record, **metadata), data_->view->Describe(document.key)));
    }
    array.source = *std::move(metadata);
    array.name = DottedKey(entry.key);
    array.key = std::move(entry.key);
    array.path = std::move(entry.path);
    return absl::OkStatus();
  }

  absl::StatusOr<Document> ReadDocument(const ArrayEntry& entry, const CheckpointArray& array,
                                        const std::stop_token& stop) {
    const std::string_view name =
        array.manifest != nullptr ? array.manifest->metadata_name : entry.metadata_name;
    for (const zarr::Format format : {zarr::Format::kV2, zarr::Format::kV3}) {
      if (!name.empty() && name != zarr::MetadataName(format)) continue;
      std::string key = KeyBelow(entry.path, zarr::MetadataName(format));
      if (options_.metadata_of_manifest && array.manifest != nullptr) {
        return Document{format, std::move(key), BytesOf(array.manifest)};
      }
      TESSERA_ASSIGN_OR_RETURN(
          store::ReadResult read,
          data_->view->Read(key, store::ByteRange::AtMost(zarr::kMaxMetadataBytes), stop));
      if (read.value.has_value()) return Document{format, std::move(key), *std::move(read.value)};
    }
    return DataLoss(data_->view->Describe(KeyBelow(entry.path, name.empty() ? ".zarray" : name)),
                    ": array metadata not found, which ",
                    array.manifest != nullptr ? "the manifest names" : "the index lists");
  }

  IoContext& io_;
  const OpenOptions& options_;
  const std::stop_token stop_;
  std::shared_ptr<Checkpoint::Data> data_ = std::make_shared<Checkpoint::Data>();
  std::optional<ledger::TensorstoreIndex> index_;
  absl::flat_hash_map<std::string, absl::StatusOr<Vouching>> noted_;
  Entries entries_;
  absl::flat_hash_map<std::string, std::shared_ptr<const ledger::ArrayManifest>> manifests_;
  absl::flat_hash_set<std::string> vouched_;  // prefixes that have a manifest
  MetadataCache cache_;
};

namespace {

bool Gone(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsDataLoss(status);
}

// A save may replace the state while it is being opened; then the new one is opened.
absl::StatusOr<Checkpoint> OpenStable(store::KvStore& store, std::shared_ptr<store::KvStore> own,
                                      IoContext& io, const OpenOptions& options,
                                      const std::stop_token& stop) {
  constexpr int kTries = 5;
  for (int tries = 1;; ++tries) {
    TESSERA_ASSIGN_OR_RETURN(const commit::View before, commit::OpenView(store, stop));
    auto opened = Opener(io, options, stop).Open(store, own);
    if (opened.ok() || tries == kTries) return opened;
    if (absl::IsAborted(opened.status())) continue;
    if (!Gone(opened.status())) return opened;
    TESSERA_ASSIGN_OR_RETURN(const commit::View after, commit::OpenView(store, stop));
    if (after.state_id == before.state_id) return opened;
  }
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(store::KvStore& store, IoContext& io,
                                            const OpenOptions& options, std::stop_token stop) {
  return OpenStable(store, nullptr, io, options, stop);
}

absl::StatusOr<Checkpoint> Checkpoint::OpenAt(std::string_view location, IoContext& io,
                                              const OpenOptions& options, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(Location opened, OpenLocation(location));
  const std::shared_ptr<store::KvStore> own = std::move(opened.store);
  OpenOptions with_file = options;
  if (!opened.file.empty()) with_file.file = opened.file;
  return OpenStable(*own, own, io, with_file, stop);
}

absl::Status Checkpoint::CheckUnchanged(std::stop_token stop) const {
  if (data_->set != nullptr) return CheckFilesUnchanged(*data_->view, *data_->set, stop);
  TESSERA_ASSIGN_OR_RETURN(const commit::View now, commit::OpenView(*data_->base, std::move(stop)));
  if (now.state_id == data_->state_id) return absl::OkStatus();
  return Aborted("the checkpoint was replaced while it was read");
}

}  // namespace tessera::checkpoint
