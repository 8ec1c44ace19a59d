#include <map>
#include <utility>

#include "tessera/checkpoint/stored_values.h"
#include "tessera/convert/target_writer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/store/concurrent.h"
#include "tessera/zarr/array.h"

namespace tessera::convert {
namespace {

// Collects what is stored for the cells of one unit.
class CellCollector {
 public:
  CellCollector(const zarr::Array& array, const CellRange& cells, size_t number) : array_(number) {
    const Dims grid = GridShape(array.metadata().shape, array.metadata().chunk_shape);
    for (int64_t i = 0; i < cells.size(); ++i) {
      const Dims cell = cells.at(i);
      numbers_.emplace(array.KeyOf(cell), CellNumber(cell, grid));
    }
  }

  void Add(std::string_view key, const StoredValue& value) {
    const auto number = numbers_.find(key);
    TESSERA_CHECK(number != numbers_.end());
    MutexLock lock(mutex_);
    chunks_.push_back({static_cast<int64_t>(array_), number->second, value});
  }

  StoredChunks Take() {
    MutexLock lock(mutex_);
    return std::move(chunks_);
  }

 private:
  const size_t array_;
  std::map<std::string, int64_t, std::less<>> numbers_;
  Mutex mutex_;
  StoredChunks chunks_ ABSL_GUARDED_BY(mutex_);
};

class ZarrWriter final : public TargetWriter {
 public:
  ZarrWriter(const ConvertPlan& plan, store::KvStore& store) : plan_(plan), store_(store) {}

  absl::Status Prepare(IoContext& io, std::stop_token stop) override {
    return store::ForEachIndex(
        io.pool(), io.pool().size(), plan_.arrays.size(), "writing metadata", std::move(stop),
        [&](size_t i, const std::stop_token& stopped) {
          const TargetPlace& place = plan_.arrays[i].place;
          const std::string key =
              checkpoint::KeyBelow(place.record.path, zarr::MetadataName(place.metadata.format));
          const std::string text = zarr::MetadataText(place.metadata);
          return store_.Write(key, std::as_bytes(std::span(text)), {}, stopped).status();
        });
  }

  absl::StatusOr<StoredChunks> Write(size_t array, const Box& box, const ConstStridedView& elements,
                                     Buffer& /*room*/, IoContext& io,
                                     std::stop_token stop) override {
    TESSERA_ASSIGN_OR_RETURN(const zarr::Array zarr, ArrayOf(array));
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                             CellRange::Of(box, zarr.metadata().chunk_shape));
    CellCollector collector(zarr, cells, array);
    zarr::WriteOptions options;
    options.on_stored = [&](std::string_view key, const StoredValue& value) {
      collector.Add(key, value);
    };
    TESSERA_RETURN_IF_ERROR(zarr.Write(box, elements, io, options, std::move(stop)));
    return collector.Take();
  }

  absl::StatusOr<StoredValue> HashCell(size_t array, int64_t cell, std::span<std::byte> room,
                                       std::stop_token stop) override {
    TESSERA_ASSIGN_OR_RETURN(const zarr::Array zarr, ArrayOf(array));
    TESSERA_ASSIGN_OR_RETURN(const CellRange cells, CellRange::Of(Box::Whole(zarr.metadata().shape),
                                                                  zarr.metadata().chunk_shape));
    const std::string key = zarr.KeyOf(cells.at(cell));
    TESSERA_ASSIGN_OR_RETURN(
        const auto value, checkpoint::HashStored(
                              store_, key, static_cast<uint64_t>(zarr.codec().most_encoded_bytes()),
                              room, std::move(stop)));
    if (value.has_value()) return *value;
    return DataLoss(store_.Describe(key), ": the chunk was not written");
  }

 private:
  absl::StatusOr<zarr::Array> ArrayOf(size_t array) const {
    const TargetPlace& place = plan_.arrays[array].place;
    return zarr::Array::Assume(store_, place.record.path, place.metadata);
  }

  const ConvertPlan& plan_;
  store::KvStore& store_;
};

}  // namespace

std::unique_ptr<TargetWriter> MakeZarrWriter(const ConvertPlan& plan, store::KvStore& store) {
  return std::make_unique<ZarrWriter>(plan, store);
}

}  // namespace tessera::convert
