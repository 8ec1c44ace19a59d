#include "tessera/checkpoint/unsealed.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/worker.h"

namespace tessera::checkpoint {
namespace {

// Takes everything and keeps nothing.
class Nowhere final : public Destination {
 public:
  std::optional<StridedView> MemoryFor(const Box&) override { return std::nullopt; }
  absl::Status Put(const Box&, const ConstStridedView&) override { return absl::OkStatus(); }
};

// In zarr v2 without a fill value an absent chunk is a lost one.
bool MayBeAbsent(const zarr::Metadata& metadata) {
  return metadata.format == zarr::Format::kV3 || metadata.fill_value.has_value();
}

}  // namespace

struct UnsealedArray::State {
  State(store::KvStore& store, const ArrayEntry& entry)
      : store(store), entry(entry), name(DottedKey(entry.key)) {}

  void Problem(std::string file, std::string_view problem) {
    MutexLock lock(mutex);
    problems.push_back({name, std::move(file), std::string(problem)});
    full = problems.size() >= UnsealedFindings::kMostProblems;
  }

  void Absent(const std::string& key) {
    if (MayBeAbsent(array->metadata())) {
      ++absent;
    } else {
      Problem(key,
              "missing; this array has no fill value, so that a chunk that is not there is lost");
    }
  }

  void CheckRecord() {
    if (!entry.record.has_value()) return;
    const ShapeDtype found = array->shape_dtype();
    if (entry.record->shape == found.shape && entry.record->dtype == DTypeName(found.dtype)) return;
    const std::string_view file = zarr::MetadataName(array->metadata().format);
    Problem(KeyBelow(entry.path, file),
            Concat("the index says ", entry.record->dtype, ShapeText(entry.record->shape),
                   ", the metadata says ", DTypeName(found.dtype), ShapeText(found.shape)));
  }

  store::KvStore& store;
  const ArrayEntry& entry;
  const std::string name;
  std::optional<zarr::Array> array = {};
  std::optional<CellRange> cells = {};
  std::atomic<int64_t> chunks{0};
  std::atomic<int64_t> absent{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<bool> full{false};
  Mutex mutex;
  std::vector<VerifyProblem> problems ABSL_GUARDED_BY(mutex);
};

UnsealedArray::UnsealedArray(store::KvStore& store, const ArrayEntry& entry)
    : state_(std::make_unique<State>(store, entry)) {}
UnsealedArray::~UnsealedArray() = default;
UnsealedArray::UnsealedArray(UnsealedArray&&) noexcept = default;

absl::Status UnsealedArray::Open(std::stop_token stop) {
  const ArrayEntry& entry = state_->entry;
  auto array = zarr::Array::Open(state_->store, entry.path, {}, std::move(stop));
  if (!array.ok()) {
    if (absl::IsCancelled(array.status())) return array.status();
    state_->Problem(
        KeyBelow(entry.path, entry.metadata_name.empty() ? ".zarray" : entry.metadata_name),
        std::string(array.status().message()));
    return absl::OkStatus();
  }
  state_->array = *std::move(array);
  state_->CheckRecord();
  const zarr::Metadata& metadata = state_->array->metadata();
  TESSERA_ASSIGN_OR_RETURN(state_->cells,
                           CellRange::Of(Box::Whole(metadata.shape), metadata.chunk_shape));
  return absl::OkStatus();
}

int64_t UnsealedArray::cells() const {
  return state_->cells.has_value() ? state_->cells->size() : 0;
}

int64_t UnsealedArray::cell_bytes() const {
  const zarr::Metadata& metadata = state_->array->metadata();
  return NumBytes(metadata.dtype, metadata.chunk_shape).value_or(0);
}

void UnsealedArray::ForgetProblems() {
  MutexLock lock(state_->mutex);
  state_->problems.clear();
}

absl::StatusOr<int64_t> UnsealedArray::Decode(int64_t cell, IoContext& io, std::stop_token stop) {
  if (state_->full) return 0;
  const zarr::Array& array = *state_->array;
  const Dims place = state_->cells->at(cell);
  const Box box = CellBox(place, array.metadata().chunk_shape, array.metadata().shape);
  Nowhere nowhere;
  const auto read = array.ReadParts(std::span(&box, 1), nowhere, io, {}, std::move(stop));
  const std::string key = array.KeyOf(place);
  if (!read.ok()) {
    if (absl::IsCancelled(read.status()) || absl::IsResourceExhausted(read.status())) {
      return read.status();
    }
    state_->Problem(key, std::string(read.status().message()));
    return 0;
  }
  state_->chunks += read->chunks;
  state_->bytes += read->bytes_read;
  for (int64_t i = 0; i < read->absent_chunks; ++i) state_->Absent(key);
  return read->bytes_read;
}

absl::Status UnsealedArray::LookFor(std::stop_token stop) {
  const std::string& path = state_->entry.path;
  TESSERA_ASSIGN_OR_RETURN(const auto listed, state_->store.List(KeyBelow(path, ""), stop));
  absl::flat_hash_set<std::string> there;
  for (const store::ListEntry& entry : listed) there.insert(entry.key);
  for (int64_t i = 0; i < cells() && !state_->full; ++i) {
    const std::string key = state_->array->KeyOf(state_->cells->at(i));
    if (there.contains(key)) {
      ++state_->chunks;
    } else {
      state_->Absent(key);
    }
  }
  return absl::OkStatus();
}

UnsealedFindings UnsealedArray::Findings() const {
  MutexLock lock(state_->mutex);
  return {state_->chunks, state_->absent, state_->bytes, state_->problems};
}

absl::StatusOr<UnsealedFindings> CheckUnsealedArray(store::KvStore& store, const ArrayEntry& entry,
                                                    IoContext& io, std::stop_token stop) {
  UnsealedArray array(store, entry);
  TESSERA_RETURN_IF_ERROR(array.Open(stop));
  TESSERA_RETURN_IF_ERROR(
      zarr::ForEachCell(io, DottedKey(entry.key), array.cells(), 0, std::move(stop),
                        [&](int64_t i, zarr::Worker&, const std::stop_token& stopped) {
                          return array.Decode(i, io, stopped).status();
                        }));
  return array.Findings();
}

absl::StatusOr<int64_t> BytesBelow(store::KvStore& store, std::span<const ArrayEntry> arrays,
                                   std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto listed, store.List("", std::move(stop)));
  absl::flat_hash_set<std::string_view> paths;
  for (const ArrayEntry& entry : arrays) paths.insert(entry.path);
  int64_t bytes = 0;
  for (const store::ListEntry& entry : listed) {
    std::string_view folder = entry.key;
    do {
      const size_t slash = folder.rfind('/');
      folder = slash == std::string_view::npos ? "" : folder.substr(0, slash);
    } while (!paths.contains(folder) && !folder.empty());
    if (paths.contains(folder)) bytes += static_cast<int64_t>(entry.size);
  }
  return bytes;
}

}  // namespace tessera::checkpoint
