#include "tessera/checkpoint/save_commit.h"

#include <algorithm>
#include <utility>

#include "tessera/checkpoint/save_documents.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"
#include "tessera/zarr/chunk_key.h"

namespace tessera::checkpoint {
namespace {

// The cells of a grid one after the other, in C order.
class CellCursor {
 public:
  explicit CellCursor(Dims grid) : grid_(std::move(grid)), cell_(grid_.size(), 0) {}
  const Dims& cell() const { return cell_; }
  void Next() {
    for (size_t i = grid_.size(); i > 0; --i) {
      if (++cell_[i - 1] < grid_[i - 1]) return;
      cell_[i - 1] = 0;
    }
  }

 private:
  const Dims grid_;
  Dims cell_;
};

std::vector<ledger::StoredRecord> RecordsOf(const std::vector<commit::SideFile>& files) {
  std::vector<ledger::StoredRecord> records;
  for (const commit::SideFile& file : files) {
    records.push_back({file.name, file.content.size(), HashOf(file.content.span())});
  }
  return records;
}

std::vector<std::string> KeysOf(const std::vector<ledger::ArrayManifest>& arrays) {
  std::vector<std::string> keys;
  for (const ledger::ArrayManifest& array : arrays) {
    keys.push_back(Concat(array.path, "/", array.metadata_name));
    for (const ledger::StoredRecord& chunk : array.chunks) {
      keys.push_back(Concat(array.path, "/", chunk.name));
    }
  }
  return keys;
}

ledger::IndexChange ChangeOf(const SavePlan& plan, const SaveOptions& options,
                             const std::string& id) {
  ledger::IndexChange change{.prefix = plan.prefix, .arrays = {}, .note = {}};
  for (const PlannedArray& array : plan.arrays) change.arrays.push_back(array.record);
  change.note = {ManifestKey(id), plan.nbytes, plan.structure};
  change.files = RecordsOf(options.shared_files);
  return change;
}

absl::StatusOr<Hash128> DigestAfter(std::optional<std::string_view> index_text,
                                    const ledger::IndexChange& change) {
  TESSERA_ASSIGN_OR_RETURN(const std::string after, ledger::ApplyIndexChange(index_text, change));
  TESSERA_ASSIGN_OR_RETURN(const ledger::TensorstoreIndex index, ledger::DecodeIndexFile(after));
  return ledger::IndexDigest(index, change.prefix);
}

}  // namespace

std::string ManifestKey(std::string_view id) {
  return Concat(commit::kOwnFolder, "manifests/", id, ".json");
}

absl::StatusOr<std::vector<ledger::ArrayManifest>> ListStored(const SavePlan& plan,
                                                              std::vector<StoredChunk> chunks) {
  std::sort(chunks.begin(), chunks.end(), [](const StoredChunk& a, const StoredChunk& b) {
    return std::pair(a.array, a.cell) < std::pair(b.array, b.cell);
  });
  std::vector<ledger::ArrayManifest> arrays;
  SaveDocuments documents;
  size_t next = 0;
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    const zarr::Metadata& metadata = plan.arrays[a].metadata;
    const std::string& path = plan.arrays[a].record.path;
    arrays.push_back({.path = path,
                      .metadata_name = std::string(zarr::MetadataName(metadata.format)),
                      .metadata = documents.Of(metadata),
                      .chunks = {}});
    const Dims grid = GridShape(metadata.shape, metadata.chunk_shape);
    CellCursor cursor(grid);
    TESSERA_ASSIGN_OR_RETURN(const int64_t cells, NumElements(grid));
    for (int64_t i = 0; i < cells; ++i, ++next, cursor.Next()) {
      std::string name = zarr::ChunkKey(metadata.chunk_keys, cursor.cell());
      if (next == chunks.size() || chunks[next].array != static_cast<int64_t>(a) ||
          chunks[next].cell != i) {
        return Internal(path, ": chunk ", name, " was not written exactly once");
      }
      const StoredValue& value = chunks[next].value;
      arrays.back().chunks.push_back({std::move(name), value.size, value.hash});
    }
  }
  if (next == chunks.size()) return arrays;
  return Internal(chunks.size() - next, " chunks were written that are not in the plan");
}

absl::StatusOr<commit::CommitRequest> MakeCommitRequest(
    const SavePlan& plan, const SaveOptions& options, const std::string& id,
    std::vector<ledger::ArrayManifest> arrays, std::optional<std::string_view> index_text) {
  commit::CommitRequest request;
  request.side_files = options.side_files;
  request.side_files.insert(request.side_files.end(), options.shared_files.begin(),
                            options.shared_files.end());
  request.data_keys = KeysOf(arrays);
  if (!options.write_index) return request;
  request.index = ChangeOf(plan, options, id);
  TESSERA_ASSIGN_OR_RETURN(const Hash128 digest, DigestAfter(index_text, *request.index));
  TESSERA_ASSIGN_OR_RETURN(const std::string manifest,
                           ledger::EncodeManifest({id, plan.prefix, digest, std::move(arrays),
                                                   RecordsOf(options.side_files)}));
  request.own_files.push_back({ManifestKey(id), Bytes::CopyOf(manifest)});
  return request;
}

}  // namespace tessera::checkpoint
