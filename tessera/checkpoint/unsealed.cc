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

class ArrayCheck {
 public:
  ArrayCheck(store::KvStore& store, const ArrayEntry& entry, IoContext& io, std::stop_token stop)
      : store_(store),
        entry_(entry),
        name_(DottedKey(entry.key)),
        io_(io),
        stop_(std::move(stop)) {}

  absl::StatusOr<UnsealedFindings> Run(bool quick) {
    auto array = zarr::Array::Open(store_, entry_.path, {}, stop_);
    if (!array.ok()) {
      if (absl::IsCancelled(array.status())) return array.status();
      Problem(
          KeyBelow(entry_.path, entry_.metadata_name.empty() ? ".zarray" : entry_.metadata_name),
          std::string(array.status().message()));
      return Findings();
    }
    CheckRecord(*array);
    TESSERA_ASSIGN_OR_RETURN(
        const CellRange cells,
        CellRange::Of(Box::Whole(array->metadata().shape), array->metadata().chunk_shape));
    TESSERA_RETURN_IF_ERROR(quick ? LookFor(*array, cells) : Decode(*array, cells));
    return Findings();
  }

 private:
  void CheckRecord(const zarr::Array& array) {
    if (!entry_.record.has_value()) return;
    const ShapeDtype found = array.shape_dtype();
    if (entry_.record->shape == found.shape && entry_.record->dtype == DTypeName(found.dtype)) {
      return;
    }
    const std::string_view file = zarr::MetadataName(array.metadata().format);
    Problem(KeyBelow(entry_.path, file),
            Concat("the index says ", entry_.record->dtype, ShapeText(entry_.record->shape),
                   ", the metadata says ", DTypeName(found.dtype), ShapeText(found.shape)));
  }

  absl::Status LookFor(const zarr::Array& array, const CellRange& cells) {
    TESSERA_ASSIGN_OR_RETURN(
        const auto listed, store_.List(entry_.path.empty() ? "" : Concat(entry_.path, "/"), stop_));
    absl::flat_hash_set<std::string> there;
    for (const store::ListEntry& entry : listed) there.insert(entry.key);
    for (int64_t i = 0; i < cells.size() && !full_; ++i) {
      const std::string key = array.KeyOf(cells.at(i));
      if (there.contains(key)) {
        ++chunks_;
      } else {
        Absent(array, key);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Decode(const zarr::Array& array, const CellRange& cells) {
    return zarr::ForEachCell(io_, name_, cells.size(), 0, stop_,
                             [&](int64_t i, zarr::Worker&, const std::stop_token& stop) {
                               return full_ ? absl::OkStatus()
                                            : DecodeCell(array, cells.at(i), stop);
                             });
  }

  absl::Status DecodeCell(const zarr::Array& array, const Dims& cell, const std::stop_token& stop) {
    const Box box = CellBox(cell, array.metadata().chunk_shape, array.metadata().shape);
    Nowhere nowhere;
    const auto read = array.ReadParts(std::span(&box, 1), nowhere, io_, {}, stop);
    const std::string key = array.KeyOf(cell);
    if (!read.ok()) {
      if (absl::IsCancelled(read.status()) || absl::IsResourceExhausted(read.status())) {
        return read.status();
      }
      Problem(key, std::string(read.status().message()));
      return absl::OkStatus();
    }
    chunks_ += read->chunks;
    bytes_ += read->bytes_read;
    for (int64_t i = 0; i < read->absent_chunks; ++i) Absent(array, key);
    return absl::OkStatus();
  }

  void Absent(const zarr::Array& array, const std::string& key) {
    if (MayBeAbsent(array.metadata())) {
      ++absent_;
    } else {
      Problem(key,
              "missing; this array has no fill value, so that a chunk that is not there is lost");
    }
  }

  void Problem(std::string file, std::string_view problem) {
    MutexLock lock(mutex_);
    problems_.push_back({name_, std::move(file), std::string(problem)});
    full_ = problems_.size() >= UnsealedFindings::kMostProblems;
  }

  UnsealedFindings Findings() {
    MutexLock lock(mutex_);
    return {chunks_, absent_, bytes_, std::move(problems_)};
  }

  store::KvStore& store_;
  const ArrayEntry& entry_;
  const std::string name_;
  IoContext& io_;
  const std::stop_token stop_;
  std::atomic<int64_t> chunks_{0};
  std::atomic<int64_t> absent_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> full_{false};
  Mutex mutex_;
  std::vector<VerifyProblem> problems_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<UnsealedFindings> CheckUnsealedArray(store::KvStore& store, const ArrayEntry& entry,
                                                    bool quick, IoContext& io,
                                                    std::stop_token stop) {
  return ArrayCheck(store, entry, io, std::move(stop)).Run(quick);
}

}  // namespace tessera::checkpoint
