#include "tessera/convert/finish.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tessera/checkpoint/save_commit.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/commit/owner.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/worker_loop.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/manifest.h"
#include "tessera/safetensors/unfolded_store.h"
#include "tessera/zarr/chunk_key.h"

namespace tessera::convert {
namespace {

int64_t CellCount(const ConvertArray& array) {
  return NumElements(GridShape(array.target.shape, array.target_cell)).value();
}

absl::Status WriteText(store::KvStore& store, std::string_view key, std::string_view text,
                       const std::stop_token& stop) {
  return store.Write(key, std::as_bytes(std::span(text)), {}, stop).status();
}

ledger::StoredRecord RecordOf(std::string name, std::string_view text) {
  return {std::move(name), text.size(), HashOf(text)};
}

class Finisher {
 public:
  Finisher(const ConvertPlan& plan, const ConvertSource& source, const StoredChunks& chunks,
           store::KvStore& store, std::stop_token stop)
      : plan_(plan), source_(source), store_(store), stop_(std::move(stop)) {
    size_t next = 0;
    for (size_t a = 0; a < plan.arrays.size(); ++a) {
      first_chunk_.push_back(next);
      next += static_cast<size_t>(CellCount(plan.arrays[a]));
    }
    TESSERA_CHECK(next == chunks.size());
    chunks_ = chunks;
  }

  absl::Status Seal() {
    ledger::Manifest manifest{.id = "seal", .prefix = ""};
    for (size_t a = 0; a < plan_.arrays.size(); ++a) manifest.arrays.push_back(ZarrManifest(a));
    return WriteManifest(checkpoint::SealKey(""), manifest);
  }

  absl::Status FinishSet() {
    const safetensors::SetPlan& set = *plan_.set;
    ledger::Manifest manifest{.id = "seal", .prefix = set.name};
    for (size_t a = 0; a < plan_.arrays.size(); ++a) manifest.arrays.push_back(TensorManifest(a));
    for (const safetensors::PlannedFile& file : set.files) {
      manifest.files.push_back(
          RecordOf(Concat(file.name, "/", safetensors::kHeaderName), file.header_bytes));
    }
    if (set.index_text.has_value()) {
      TESSERA_RETURN_IF_ERROR(WriteText(store_, set.name, *set.index_text, stop_));
      manifest.files.push_back(RecordOf(set.name, *set.index_text));
    }
    return WriteManifest(checkpoint::SealKey(set.name), manifest);
  }

  absl::Status FinishTensorstore() {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<ledger::StoredRecord> files, WriteSideFiles());
    std::map<std::string, ledger::Manifest> manifests;
    std::optional<std::string> index;
    for (const std::string& prefix : Prefixes()) {
      ledger::Manifest& manifest = manifests[prefix];
      manifest.id = commit::NewId();
      manifest.prefix = prefix;
      const ledger::IndexChange change = ChangeOf(prefix, manifest, files);
      TESSERA_ASSIGN_OR_RETURN(index, ledger::ApplyIndexChange(index, change));
    }
    TESSERA_ASSIGN_OR_RETURN(const ledger::TensorstoreIndex decoded,
                             ledger::DecodeIndexFile(*index));
    for (auto& [prefix, manifest] : manifests) {
      manifest.index_digest = ledger::IndexDigest(decoded, prefix);
      TESSERA_RETURN_IF_ERROR(WriteManifest(checkpoint::ManifestKey(manifest.id), manifest));
    }
    return WriteText(store_, ledger::kIndexName, *index, stop_);
  }

 private:
  ledger::ArrayManifest ZarrManifest(size_t a) const {
    const ConvertArray& array = plan_.arrays[a];
    const zarr::Metadata& metadata = array.place.metadata;
    ledger::ArrayManifest manifest{array.place.record.path,
                                   std::string(zarr::MetadataName(metadata.format)),
                                   zarr::MetadataText(metadata),
                                   {}};
    const auto cells = CellRange::Of(Box::Whole(metadata.shape), metadata.chunk_shape);
    for (int64_t i = 0; i < cells->size(); ++i) {
      const StoredValue& value = chunks_[first_chunk_[a] + static_cast<size_t>(i)].value;
      manifest.chunks.push_back(
          {zarr::ChunkKey(metadata.chunk_keys, cells->at(i)), value.size, value.hash});
    }
    return manifest;
  }

  ledger::ArrayManifest TensorManifest(size_t a) const {
    const ConvertArray& array = plan_.arrays[a];
    const safetensors::PlannedFile& file = plan_.set->files[array.place.file];
    ledger::ArrayManifest manifest{safetensors::UnfoldedPath(file.name, array.new_key),
                                   std::string(safetensors::kTensorName),
                                   safetensors::TensorText(file.header.tensors[array.place.tensor]),
                                   {}};
    for (int64_t i = 0; i < CellCount(array); ++i) {
      const StoredValue& value = chunks_[first_chunk_[a] + static_cast<size_t>(i)].value;
      manifest.chunks.push_back({Concat(i), value.size, value.hash});
    }
    return manifest;
  }

  absl::Status WriteManifest(const std::string& key, const ledger::Manifest& manifest) {
    TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeManifest(manifest));
    return WriteText(store_, key, text, stop_);
  }

  // In the order in which they come.
  std::vector<std::string> Prefixes() const {
    std::vector<std::string> prefixes;
    for (const ConvertArray& array : plan_.arrays) {
      const bool known =
          std::find(prefixes.begin(), prefixes.end(), array.prefix) != prefixes.end();
      if (!known) prefixes.push_back(array.prefix);
    }
    return prefixes;
  }

  absl::StatusOr<std::vector<ledger::StoredRecord>> WriteSideFiles() {
    std::vector<ledger::StoredRecord> files;
    if (!source_.checkpoint_metadata.has_value()) return files;
    TESSERA_ASSIGN_OR_RETURN(
        const std::string text,
        ConvertCheckpointMetadata(plan_, source_, *source_.checkpoint_metadata));
    TESSERA_RETURN_IF_ERROR(WriteText(store_, ledger::kCheckpointMetadataName, text, stop_));
    files.push_back(RecordOf(std::string(ledger::kCheckpointMetadataName), text));
    return files;
  }

  ledger::IndexChange ChangeOf(const std::string& prefix, ledger::Manifest& manifest,
                               const std::vector<ledger::StoredRecord>& files) const {
    ledger::IndexChange change{.prefix = prefix, .arrays = {}, .note = {}, .files = files};
    change.note.manifest = checkpoint::ManifestKey(manifest.id);
    for (size_t a = 0; a < plan_.arrays.size(); ++a) {
      const ConvertArray& array = plan_.arrays[a];
      if (array.prefix != prefix) continue;
      change.arrays.push_back(array.place.record);
      change.note.nbytes += NumBytes(array.target.dtype, array.target.shape).value();
      manifest.arrays.push_back(ZarrManifest(a));
    }
    change.note.structure = StructureOf(prefix);
    return change;
  }

  // That of the source, where its arrays are those of the prefix, in order and by the same keys.
  std::optional<ledger::SavedTree> StructureOf(const std::string& prefix) const {
    const std::vector<SourceArray> sources = source_.Arrays();
    const SourceList* list = nullptr;
    size_t count = 0;
    for (const ConvertArray& array : plan_.arrays) {
      if (array.prefix != prefix) continue;
      const SourceArray& source = sources[array.number];
      if (list == nullptr) list = source.list;
      if (source.list != list || array.new_key != source.array->name ||
          count >= list->checkpoint.arrays().size() ||
          &list->checkpoint.arrays()[count] != source.array) {
        return std::nullopt;
      }
      ++count;
    }
    if (list == nullptr || count != list->checkpoint.arrays().size()) return std::nullopt;
    return list->checkpoint.structure();
  }

  const ConvertPlan& plan_;
  const ConvertSource& source_;
  StoredChunks chunks_;
  std::vector<size_t> first_chunk_;  // of each array
  store::KvStore& store_;
  const std::stop_token stop_;
};

}  // namespace

absl::StatusOr<StoredChunks> CompleteChunks(const ConvertPlan& plan, StoredChunks chunks,
                                            TargetWriter& writer, IoContext& io,
                                            std::stop_token stop) {
  std::map<std::pair<int64_t, int64_t>, StoredValue> known;
  for (const checkpoint::StoredChunk& chunk : chunks) {
    known[{chunk.array, chunk.cell}] = chunk.value;
  }
  StoredChunks all;
  std::vector<size_t> missing;
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    for (int64_t cell = 0; cell < CellCount(plan.arrays[a]); ++cell) {
      const auto found = known.find({static_cast<int64_t>(a), cell});
      if (found == known.end()) missing.push_back(all.size());
      all.push_back(
          {static_cast<int64_t>(a), cell, found == known.end() ? StoredValue{} : found->second});
    }
  }
  TESSERA_RETURN_IF_ERROR(ForEachWithWorkers<Buffer>(
      io, "hashing what was written", static_cast<int64_t>(missing.size()), kPieceBytes,
      std::move(stop),
      [&](int64_t i, Buffer& room, const std::stop_token& stopped) -> absl::Status {
        checkpoint::StoredChunk& chunk = all[missing[static_cast<size_t>(i)]];
        TESSERA_ASSIGN_OR_RETURN(chunk.value,
                                 writer.HashCell(static_cast<size_t>(chunk.array), chunk.cell,
                                                 room.Resize(kPieceBytes), stopped));
        return absl::OkStatus();
      }));
  return all;
}

absl::Status FinishCheckpoint(const ConvertPlan& plan, const ConvertSource& source,
                              const StoredChunks& chunks, store::KvStore& store,
                              std::stop_token stop) {
  // Of a conversion that was interrupted after this.
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(commit::kOwnFolder, stop));
  Finisher finisher(plan, source, chunks, store, std::move(stop));
  switch (plan.format) {
    case TargetFormat::kTensorstore:
      return finisher.FinishTensorstore();
    case TargetFormat::kSafetensors:
      return finisher.FinishSet();
    case TargetFormat::kZarr2:
    case TargetFormat::kZarr3:
      return finisher.Seal();
  }
  return Internal("unknown format");
}

absl::StatusOr<std::string> ConvertCheckpointMetadata(const ConvertPlan& plan,
                                                      const ConvertSource& source,
                                                      const std::string& text) {
  const std::vector<SourceArray> sources = source.Arrays();
  bool same = plan.arrays.size() == sources.size();
  for (const ConvertArray& array : plan.arrays) {
    same = same && array.new_key == sources[array.number].array->name && !array.casts() &&
           array.permutation.empty();
  }
  if (same) return text;
  auto decoded = ledger::DecodeCheckpointMetadata(text);
  if (!decoded.ok()) return Prefixed(decoded.status(), ledger::kCheckpointMetadataName);
  ledger::CheckpointMetadata metadata = *std::move(decoded);
  const auto old_checksums = std::exchange(metadata.checksum, {});
  const auto old_types = std::exchange(metadata.array_metadata, {});
  for (const ConvertArray& array : plan.arrays) {
    const std::string& name = sources[array.number].array->name;
    if (old_types.contains(name)) {
      metadata.array_metadata[array.new_key] = {std::string(DTypeName(array.target.dtype)),
                                                array.target.shape};
    }
    const auto checksum = old_checksums.find(name);
    if (checksum == old_checksums.end() || array.casts() || !array.permutation.empty()) continue;
    metadata.checksum[array.new_key] = checksum->second;
  }
  return ledger::EncodeCheckpointMetadata(metadata);
}

}  // namespace tessera::convert
