// SealCheckpoint: a manifest for what somebody else wrote.
#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "tessera/checkpoint/byte_progress.h"
#include "tessera/checkpoint/detect_format.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/unsealed.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/checkpoint/verify_set.h"
#include "tessera/commit/view.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/worker.h"

namespace tessera::checkpoint {
namespace {

// The arrays of one list.
struct List {
  std::string prefix;
  std::vector<ArrayEntry> arrays = {};
  std::string replaces = {};            // a manifest that does not hold any more
  std::vector<std::string> files = {};  // that it had of the prefix
};

// Everything that a manifest has, by its key in the store.
std::vector<ledger::StoredRecord> StoredBy(const ledger::Manifest& manifest) {
  std::vector<ledger::StoredRecord> values = manifest.files;
  for (const ledger::ArrayManifest& array : manifest.arrays) {
    const std::string path = PathInStore(array.path);
    values.push_back(
        {KeyBelow(path, array.metadata_name), array.metadata.size(), HashOf(array.metadata)});
    for (const ledger::StoredRecord& chunk : array.chunks) {
      values.push_back({KeyBelow(path, chunk.name), chunk.size, chunk.hash});
    }
  }
  return values;
}

class Sealer {
 public:
  Sealer(store::KvStore& store, IoContext& io, const SealOptions& options, std::stop_token stop)
      : base_(store),
        io_(io),
        options_(options),
        stop_(std::move(stop)),
        progress_(options.progress) {}

  absl::StatusOr<SealReport> Run() {
    TESSERA_ASSIGN_OR_RETURN(view_, commit::OpenView(base_, stop_));
    TESSERA_ASSIGN_OR_RETURN(const Detected detected,
                             DetectFormat(view_, options_.file, io_, stop_));
    if (detected.format == Format::kSafetensors) {
      return SealSet(base_, *view_.store, detected.files, io_, options_, stop_);
    }
    TESSERA_ASSIGN_OR_RETURN(const std::vector<List> lists, FindLists(detected.listing));
    TESSERA_RETURN_IF_ERROR(AddTotal(lists));
    for (const List& list : lists) TESSERA_RETURN_IF_ERROR(SealList(list));
    TESSERA_RETURN_IF_ERROR(base_.Flush(stop_));
    return std::move(report_);
  }

 private:
  // Every chunk is read twice: to decode it and to hash it.
  absl::Status AddTotal(const std::vector<List>& lists) {
    if (!progress_.watched()) return absl::OkStatus();
    std::vector<ArrayEntry> arrays;
    for (const List& list : lists) {
      arrays.insert(arrays.end(), list.arrays.begin(), list.arrays.end());
    }
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, BytesBelow(*view_.store, arrays, stop_));
    progress_.AddTotal(2 * bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<List>> FindLists(std::span<const store::ListEntry> listing) {
    if (!view_.index_text.has_value()) {
      TESSERA_ASSIGN_OR_RETURN(Entries entries, EntriesOfListing(*view_.store, listing, "", true,
                                                                 view_.unfinished_paths));
      return std::vector<List>{{"", std::move(entries.arrays)}};
    }
    auto index = ledger::DecodeIndexFile(view_.index_text->text());
    if (!index.ok()) {
      return Prefixed(index.status(), view_.store->Describe(ledger::kIndexName));
    }
    index_ = *std::move(index);
    std::vector<List> lists;
    if (index_->prefixes.has_value()) {
      for (const auto& [prefix, records] : *index_->prefixes) {
        TESSERA_RETURN_IF_ERROR(AddList(prefix, lists));
      }
    }
    if (index_->arrays.has_value()) TESSERA_RETURN_IF_ERROR(AddList("", lists));
    return lists;
  }

  absl::Status AddList(const std::string& prefix, std::vector<List>& lists) {
    List list{.prefix = prefix};
    for (const auto& [noted, note] : index_->notes) {
      if (noted == prefix) list.replaces = note.manifest;
    }
    if (!list.replaces.empty()) {
      TESSERA_ASSIGN_OR_RETURN(const bool holds, HoldsStill(list));
      if (holds) {
        report_.had_seal.push_back(prefix);
        return absl::OkStatus();
      }
    }
    auto listed = EntriesOfIndex(*index_, prefix, false);
    if (!listed.ok()) {
      return Prefixed(listed.status(), view_.store->Describe(ledger::kIndexName));
    }
    list.arrays = std::move(listed->arrays);
    lists.push_back(std::move(list));
    return absl::OkStatus();
  }

  // Whether the prefix is what its manifest says.  One that cannot be read says nothing.
  absl::StatusOr<bool> HoldsStill(List& list) {
    const auto vouching = FindVouching(*view_.store, list.prefix, list.replaces, stop_);
    if (absl::IsDataLoss(vouching.status()) || absl::IsInvalidArgument(vouching.status())) {
      return false;
    }
    TESSERA_RETURN_IF_ERROR(vouching.status());
    if (!vouching->manifest.has_value()) return false;
    const ledger::Manifest& manifest = *vouching->manifest;
    for (const ledger::StoredRecord& file : manifest.files) list.files.push_back(file.name);
    if (manifest.index_digest != ledger::IndexDigest(*index_, list.prefix)) return false;
    return AreStored(StoredBy(manifest));
  }

  absl::StatusOr<bool> AreStored(const std::vector<ledger::StoredRecord>& values) {
    std::atomic<bool> all = true;
    for (const ledger::StoredRecord& value : values) {
      progress_.AddTotal(static_cast<int64_t>(value.size));
    }
    TESSERA_RETURN_IF_ERROR(zarr::ForEachCell(
        io_, "seal", static_cast<int64_t>(values.size()), kPieceBytes, stop_,
        [&](int64_t i, zarr::Worker& worker, const std::stop_token& stop) -> absl::Status {
          const ledger::StoredRecord& value = values[static_cast<size_t>(i)];
          const auto found = HashStored(*view_.store, value.name, value.size,
                                        worker.stored.Resize(kPieceBytes), stop);
          if (!found.ok() && !absl::IsOutOfRange(found.status())) return found.status();
          progress_.Done(static_cast<int64_t>(value.size));
          if (!found.ok() || !found->has_value() || (*found)->size != value.size ||
              (*found)->hash != value.hash) {
            all = false;
          }
          return absl::OkStatus();
        }));
    return all.load();
  }

  absl::Status SealList(const List& list) {
    ledger::Manifest manifest{
        .id = std::string(kSealId), .prefix = list.prefix, .replaces = list.replaces};
    if (index_.has_value()) manifest.index_digest = ledger::IndexDigest(*index_, list.prefix);
    TESSERA_ASSIGN_OR_RETURN(manifest.arrays, SealArrays(list.arrays));
    TESSERA_ASSIGN_OR_RETURN(manifest.files, HashFiles(list.files));
    TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeManifest(manifest));
    TESSERA_RETURN_IF_ERROR(
        base_.Write(SealKey(list.prefix), std::as_bytes(std::span(text)), {}, stop_));
    report_.sealed.push_back(list.prefix);
    if (!list.replaces.empty()) report_.replaced.push_back(list.prefix);
    return absl::OkStatus();
  }

  // Those that are there.
  absl::StatusOr<std::vector<ledger::StoredRecord>> HashFiles(
      const std::vector<std::string>& names) {
    std::vector<std::byte> room(kPieceBytes);
    std::vector<ledger::StoredRecord> files;
    for (const std::string& name : names) {
      TESSERA_ASSIGN_OR_RETURN(
          const auto found,
          HashStored(*view_.store, name, std::numeric_limits<int64_t>::max(), room, stop_));
      if (found.has_value()) files.push_back({name, found->size, found->hash});
    }
    return files;
  }

  // Many at once: there may be many of one chunk each.
  absl::StatusOr<std::vector<ledger::ArrayManifest>> SealArrays(
      const std::vector<ArrayEntry>& entries) {
    std::vector<ledger::ArrayManifest> arrays(entries.size());
    TESSERA_RETURN_IF_ERROR(zarr::ForEachCell(
        io_, "seal", static_cast<int64_t>(entries.size()), 0, stop_,
        [&](int64_t i, zarr::Worker&, const std::stop_token& stop) -> absl::Status {
          const auto number = static_cast<size_t>(i);
          TESSERA_ASSIGN_OR_RETURN(arrays[number], SealArray(entries[number], stop));
          return absl::OkStatus();
        }));
    for (const ledger::ArrayManifest& array : arrays) {
      report_.chunks += static_cast<int64_t>(array.chunks.size());
      for (const ledger::StoredRecord& chunk : array.chunks) {
        report_.bytes += static_cast<int64_t>(chunk.size);
      }
    }
    return arrays;
  }

  absl::StatusOr<ledger::ArrayManifest> SealArray(const ArrayEntry& entry,
                                                  const std::stop_token& stop) {
    TESSERA_ASSIGN_OR_RETURN(const UnsealedFindings findings,
                             CheckUnsealedArray(*view_.store, entry, io_, stop));
    progress_.Done(findings.bytes);
    if (!findings.problems.empty()) {
      const VerifyProblem& first = findings.problems.front();
      return DataLoss("array ", Quoted(first.key), ": ", first.file, ": ", first.problem,
                      findings.problems.size() == 1
                          ? std::string()
                          : Concat(" (and ", findings.problems.size() - 1, " more)"));
    }
    TESSERA_ASSIGN_OR_RETURN(const zarr::Array array,
                             zarr::Array::Open(*view_.store, entry.path, {}, stop));
    ledger::ArrayManifest sealed{entry.path.empty() ? "." : entry.path,
                                 std::string(zarr::MetadataName(array.metadata().format)),
                                 {},
                                 {}};
    TESSERA_ASSIGN_OR_RETURN(
        const store::ReadResult document,
        view_.store->Read(KeyBelow(entry.path, sealed.metadata_name),
                          store::ByteRange::AtMost(zarr::kMaxMetadataBytes), stop));
    if (!document.value.has_value()) {
      return Aborted("array ", Quoted(entry.path), ": its metadata went away while it was sealed");
    }
    sealed.metadata = document.value->text();
    TESSERA_ASSIGN_OR_RETURN(sealed.chunks, HashChunks(entry, array, stop));
    return sealed;
  }

  // Chunks that may be absent, and are, are left out.
  absl::StatusOr<std::vector<ledger::StoredRecord>> HashChunks(const ArrayEntry& entry,
                                                               const zarr::Array& array,
                                                               const std::stop_token& stopped) {
    TESSERA_ASSIGN_OR_RETURN(
        const CellRange cells,
        CellRange::Of(Box::Whole(array.metadata().shape), array.metadata().chunk_shape));
    std::vector<std::optional<StoredValue>> values(static_cast<size_t>(cells.size()));
    const uint64_t most = static_cast<uint64_t>(array.codec().most_encoded_bytes());
    TESSERA_RETURN_IF_ERROR(zarr::ForEachCell(
        io_, entry.path, cells.size(), kPieceBytes, stopped,
        [&](int64_t i, zarr::Worker& worker, const std::stop_token& stop) -> absl::Status {
          TESSERA_ASSIGN_OR_RETURN(values[static_cast<size_t>(i)],
                                   HashStored(*view_.store, array.KeyOf(cells.at(i)), most,
                                              worker.stored.Resize(kPieceBytes), stop));
          return absl::OkStatus();
        }));
    const size_t below = entry.path.empty() ? 0 : entry.path.size() + 1;
    std::vector<ledger::StoredRecord> chunks;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].has_value()) continue;
      const std::string key = array.KeyOf(cells.at(static_cast<int64_t>(i)));
      chunks.push_back({key.substr(below), values[i]->size, values[i]->hash});
      progress_.Done(static_cast<int64_t>(values[i]->size));
    }
    return chunks;
  }

  store::KvStore& base_;
  IoContext& io_;
  const SealOptions& options_;
  const std::stop_token stop_;
  ByteProgress progress_;
  commit::View view_;
  std::optional<ledger::TensorstoreIndex> index_;
  SealReport report_;
};

}  // namespace

absl::StatusOr<SealReport> SealCheckpoint(store::KvStore& store, IoContext& io,
                                          const SealOptions& options, std::stop_token stop) {
  return Sealer(store, io, options, std::move(stop)).Run();
}

}  // namespace tessera::checkpoint
