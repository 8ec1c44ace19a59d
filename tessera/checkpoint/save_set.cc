#include "tessera/checkpoint/save_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/checkpoint/plan_save_tensors.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/safetensors/unfolded_store.h"

namespace tessera::checkpoint {
namespace {

using store::ByteRange;
using store::KvStore;

constexpr std::string_view kEnding = ".safetensors";

// Whether the value is a safetensors file as far as its header tells.
absl::StatusOr<bool> IsTensors(KvStore& store, const std::string& key,
                               const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const store::ReadResult none, store.Read(key, {0, 0}, stop));
  if (!none.value.has_value() || none.size < safetensors::kLengthBytes) return false;
  TESSERA_ASSIGN_OR_RETURN(const store::ReadResult first,
                           store.Read(key, {0, safetensors::kLengthBytes}, stop));
  if (!first.value.has_value()) return false;
  const auto length = safetensors::DecodeHeaderLength(first.value->span(), first.size);
  if (!length.ok()) return false;
  TESSERA_ASSIGN_OR_RETURN(const store::ReadResult text,
                           store.Read(key, {safetensors::kLengthBytes, *length}, stop));
  if (!text.value.has_value()) return false;
  const uint64_t data = text.size - safetensors::kLengthBytes - *length;
  return safetensors::DecodeHeader(text.value->text(), data).ok();
}

// Adds the index and what it names; false: there is no value.
absl::StatusOr<bool> AddIndex(KvStore& store, const std::string& stem, const std::stop_token& stop,
                              std::set<std::string>& keys) {
  const std::string name = safetensors::IndexFilename(stem);
  const auto read = store.Read(name, ByteRange::AtMost(safetensors::kMaxIndexBytes), stop);
  if (absl::IsOutOfRange(read.status())) return true;
  TESSERA_RETURN_IF_ERROR(read);
  if (!read->value.has_value()) return false;
  const auto index = safetensors::DecodeIndexFile(read->value->text());
  if (!index.ok()) return true;
  keys.insert(name);
  for (const auto& [tensor, file] : index->weight_map) {
    // Another set's files may be named here, and stay that set's.
    if (file.ends_with(kEnding) && safetensors::DeriveBasePrefixFromPath(file) == stem) {
      keys.insert(file);
    }
  }
  return true;
}

absl::StatusOr<bool> AreTensors(KvStore& store, const std::vector<std::string>& keys,
                                const std::stop_token& stop) {
  for (const std::string& key : keys) {
    TESSERA_ASSIGN_OR_RETURN(const bool tensors, IsTensors(store, key, stop));
    if (!tensors) return false;
  }
  return true;
}

ledger::StoredRecord RecordOf(const std::string& name, std::string_view text) {
  return {name, text.size(), HashOf(text)};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilesOfSet(KvStore& store, const std::string& stem,
                                                    const std::vector<std::string>& series,
                                                    const std::stop_token& stop) {
  const std::string single = Concat(stem, kEnding);
  // A seal whose files are gone would vouch for a set that is none.
  std::set<std::string> keys = {SealKey(single), SealKey(safetensors::IndexFilename(stem))};
  TESSERA_ASSIGN_OR_RETURN(const bool has_index, AddIndex(store, stem, stop, keys));
  if (!has_index) {
    TESSERA_ASSIGN_OR_RETURN(const bool whole, AreTensors(store, series, stop));
    if (whole) keys.insert(series.begin(), series.end());
  }
  TESSERA_ASSIGN_OR_RETURN(const bool is_single, IsTensors(store, single, stop));
  if (is_single) keys.insert(single);
  return std::vector<std::string>(keys.begin(), keys.end());
}

commit::BeginRequest MakeSetBegin(const SavePlan& plan) {
  const safetensors::SetPlan& set = *plan.set;
  // PlanTensors refuses stems that this would not give back.
  const std::string stem = safetensors::DeriveBasePrefixFromPath(set.name);
  commit::BeginRequest request{.prefix = Concat(stem, kEnding), .paths = {}};
  for (const safetensors::PlannedFile& file : set.files) request.paths.push_back(file.name);
  const std::vector<std::string> files = request.paths;
  if (set.index_text.has_value()) request.paths.push_back(set.name);
  request.replaced = [stem, files](KvStore& store, const std::stop_token& stop) {
    return FilesOfSet(store, stem, files, stop);
  };
  return request;
}

absl::StatusOr<std::vector<ledger::ArrayManifest>> ListStoredTensors(
    const SavePlan& plan, std::vector<StoredChunk> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const StoredChunk& a, const StoredChunk& b) {
    return std::pair(a.array, a.cell) < std::pair(b.array, b.cell);
  });
  std::vector<ledger::ArrayManifest> tensors;
  size_t next = 0;
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    const zarr::Metadata& metadata = plan.arrays[a].metadata;
    tensors.push_back({.path = plan.arrays[a].record.path,
                       .metadata_name = std::string(safetensors::kTensorName),
                       .metadata = safetensors::TensorText(TensorOf(plan, a).tensor),
                       .chunks = {}});
    TESSERA_ASSIGN_OR_RETURN(const int64_t count,
                             NumElements(GridShape(metadata.shape, metadata.chunk_shape)));
    for (int64_t i = 0; i < count; ++i, ++next) {
      if (next == blocks.size() || blocks[next].array != static_cast<int64_t>(a) ||
          blocks[next].cell != i) {
        return Internal(plan.arrays[a].key, ": block ", i, " was not written exactly once");
      }
      const StoredValue& value = blocks[next].value;
      tensors.back().chunks.push_back({Concat(i), value.size, value.hash});
    }
  }
  if (next == blocks.size()) return tensors;
  return Internal(blocks.size() - next, " blocks were written that are not in the plan");
}

absl::StatusOr<commit::CommitRequest> MakeSetCommit(const SavePlan& plan,
                                                    const SaveOptions& options,
                                                    const std::string& id,
                                                    std::vector<ledger::ArrayManifest> tensors) {
  const safetensors::SetPlan& set = *plan.set;
  commit::CommitRequest request;
  ledger::Manifest manifest{.id = id, .prefix = set.name, .arrays = std::move(tensors)};
  for (const safetensors::PlannedFile& file : set.files) {
    request.data_keys.push_back(file.name);
    manifest.files.push_back(
        RecordOf(Concat(file.name, "/", safetensors::kHeaderName), file.header_bytes));
  }
  if (set.index_text.has_value()) {
    request.last_files.push_back({set.name, Bytes::CopyOf(*set.index_text)});
    manifest.files.push_back(RecordOf(set.name, *set.index_text));
  }
  for (const commit::SideFile& file : options.side_files) {
    manifest.files.push_back(RecordOf(file.name, file.content.text()));
  }
  request.side_files = options.side_files;
  request.side_files.insert(request.side_files.end(), options.shared_files.begin(),
                            options.shared_files.end());
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeManifest(manifest));
  request.side_files.push_back({SealKey(set.name), Bytes::CopyOf(text)});
  return request;
}

}  // namespace tessera::checkpoint
