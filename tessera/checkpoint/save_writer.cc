#include "tessera/checkpoint/save_writer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/checkpoint/save_documents.h"
#include "tessera/checkpoint/save_progress.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/status.h"
#include "tessera/zarr/chunk_key.h"
#include "tessera/zarr/encode_chunk.h"
#include "tessera/zarr/memory_need.h"
#include "tessera/zarr/stored_hash.h"
#include "tessera/zarr/worker.h"

namespace tessera::checkpoint {
namespace {

// Codecs ready for use.  In one plan they depend on the chunk's shape and dtype alone.
class CodecCache {
 public:
  absl::StatusOr<const zarr::ChunkCodec*> Get(const zarr::Metadata& metadata) {
    auto& codec = codecs_[{metadata.chunk_shape, metadata.dtype}];
    if (codec != nullptr) return codec.get();
    TESSERA_ASSIGN_OR_RETURN(
        zarr::ChunkCodec made,
        zarr::ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
    codec = std::make_unique<zarr::ChunkCodec>(std::move(made));
    return codec.get();
  }

 private:
  absl::flat_hash_map<std::pair<Dims, DType>, std::unique_ptr<zarr::ChunkCodec>> codecs_;
};

// A part of an array with all that writing its chunks takes.
struct Work {
  const PlannedArray* array = nullptr;
  int64_t array_index = 0;
  const HeldPart* held = nullptr;         // nullptr: the metadata
  const std::string* document = nullptr;  // then
  const zarr::ChunkCodec* codec = nullptr;
  CellRange cells = {};
};

struct Job {
  size_t work = 0;
  int64_t cell = 0;  // of the work's cells
};

class Writer {
 public:
  Writer(const SavePlan& plan, const SaveTarget& target, IoContext& io)
      : plan_(plan), target_(target), io_(io) {}

  absl::Status Prepare(const Snapshot& snapshot) {
    std::vector<std::pair<size_t, size_t>> held(plan_.arrays.size());  // of each array
    const std::span<const HeldPart> parts = snapshot.parts();
    for (size_t i = 0; i < parts.size(); ++i) {
      auto& [begin, end] = held[parts[i].array];
      if (begin == end) begin = i;
      end = i + 1;
    }
    for (const size_t a : LargeChunksFirst()) {
      if (plan_.arrays[a].metadata_rank == target_.rank) AddMetadata(a);
      for (size_t i = held[a].first; i < held[a].second; ++i) {
        TESSERA_RETURN_IF_ERROR(AddPart(a, parts[i]));
      }
    }
    stored_.resize(jobs_.size());
    return absl::OkStatus();
  }

  absl::Status Run(const ProgressTeller::Listener& progress, std::stop_token stop) {
    ProgressTeller teller(progress, total_);
    return zarr::ForEachCell(io_, target_.store.Describe(target_.data_prefix), Index(jobs_.size()),
                             need_, std::move(stop),
                             [&](int64_t i, zarr::Worker& worker, const std::stop_token& stopped) {
                               const auto job = static_cast<size_t>(i);
                               const Work& work = works_[jobs_[job].work];
                               if (work.held == nullptr) return WriteMetadata(work, stopped);
                               return WriteChunk(job, work, worker, teller, stopped);
                             });
  }

  std::vector<StoredChunk> TakeStored() {
    std::vector<StoredChunk> chunks;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (works_[jobs_[i].work].held != nullptr) chunks.push_back(stored_[i]);
    }
    std::sort(chunks.begin(), chunks.end(), [](const StoredChunk& a, const StoredChunk& b) {
      return std::pair(a.array, a.cell) < std::pair(b.array, b.cell);
    });
    return chunks;
  }

 private:
  static int64_t Index(size_t i) { return static_cast<int64_t>(i); }

  // A large chunk that is begun last would leave the other threads waiting for it.
  std::vector<size_t> LargeChunksFirst() const {
    std::vector<size_t> order(plan_.arrays.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return plan_.arrays[a].chunk.bytes > plan_.arrays[b].chunk.bytes;
    });
    return order;
  }

  void Add(const Work& work, int64_t jobs) {
    works_.push_back(work);
    for (int64_t i = 0; i < jobs; ++i) jobs_.push_back({works_.size() - 1, i});
  }

  void AddMetadata(size_t a) {
    const PlannedArray& array = plan_.arrays[a];
    Add({.array = &array, .document = &documents_.Of(array.metadata)}, 1);
  }

  absl::Status AddPart(size_t a, const HeldPart& held) {
    const PlannedArray& array = plan_.arrays[a];
    const Box& box = array.parts[held.part].box;
    TESSERA_ASSIGN_OR_RETURN(const zarr::ChunkCodec* codec, codecs_.Get(array.metadata));
    TESSERA_ASSIGN_OR_RETURN(CellRange cells, CellRange::Of(box, array.metadata.chunk_shape));
    total_.bytes_total += *box.num_elements() * DTypeBytes(array.metadata.dtype);
    total_.chunks_total += cells.size();
    need_ = std::max(need_, NeedOf(array, *codec, held.elements));
    Add({.array = &array, .array_index = Index(a), .held = &held, .codec = codec, .cells = cells},
        cells.size());
    return absl::OkStatus();
  }

  // Memory to write one chunk of a part.
  int64_t NeedOf(const PlannedArray& array, const zarr::ChunkCodec& codec,
                 const ConstStridedView& elements) const {
    const bool streams = target_.store.streams();
    ConstStridedView chunk = elements;
    chunk.shape = codec.shape;
    const int64_t whole = zarr::EncodeNeed(codec, streams, chunk);
    if (array.chunk.reason != ChunkReason::kUneven) return whole;
    const ConstStridedView padded =
        RowMajorView<const std::byte>(nullptr, codec.shape, elements.element_bytes);
    return std::max(
        whole, zarr::SaturatingSum({array.chunk.bytes, zarr::EncodeNeed(codec, streams, padded)}));
  }

  absl::Status WriteMetadata(const Work& work, const std::stop_token& stop) const {
    const PlannedArray& array = *work.array;
    const std::string key = Concat(target_.data_prefix, array.record.path, "/",
                                   zarr::MetadataName(array.metadata.format));
    const auto text = std::as_bytes(std::span(*work.document));
    return target_.store.Write(key, text, std::nullopt, stop).status();
  }

  absl::Status WriteChunk(size_t job, const Work& work, zarr::Worker& worker,
                          ProgressTeller& teller, const std::stop_token& stop) {
    const zarr::Metadata& metadata = work.array->metadata;
    const Dims cell = work.cells.at(jobs_[job].cell);
    const Box cell_box = CellBox(cell, metadata.chunk_shape, metadata.shape);
    const Box& part = work.array->parts[work.held->part].box;
    ConstStridedView chunk = SubView(work.held->elements, RelativeTo(cell_box, part.origin()));
    if (cell_box.shape() != metadata.chunk_shape) {
      TESSERA_ASSIGN_OR_RETURN(chunk, Padded(chunk, work, worker));
    }
    const std::string key = Concat(target_.data_prefix, work.array->record.path, "/",
                                   zarr::ChunkKey(metadata.chunk_keys, cell));
    const Dims grid = GridShape(metadata.shape, metadata.chunk_shape);
    stored_[job] = {work.array_index, CellNumber(cell, grid)};
    TESSERA_RETURN_IF_ERROR(StoreChunk(key, *work.codec, chunk, worker, stop, stored_[job].value));
    teller.Add(*cell_box.num_elements() * DTypeBytes(metadata.dtype));
    return absl::OkStatus();
  }

  // A chunk at the array's edge is stored whole, with zeros behind the edge.
  absl::StatusOr<ConstStridedView> Padded(const ConstStridedView& chunk, const Work& work,
                                          zarr::Worker& worker) const {
    const auto bytes = static_cast<size_t>(work.array->chunk.bytes);
    const std::span<std::byte> memory = worker.chunk.Resize(bytes);
    std::memset(memory.data(), 0, bytes);
    const StridedView whole = RowMajorView(memory.data(), work.codec->shape, chunk.element_bytes);
    TESSERA_RETURN_IF_ERROR(CopyStrided(chunk, SubView(whole, Box::Whole(chunk.shape))));
    return AsConst(whole);
  }

  absl::Status StoreChunk(const std::string& key, const zarr::ChunkCodec& codec,
                          const ConstStridedView& chunk, zarr::Worker& worker,
                          const std::stop_token& stop, StoredValue& value) const {
    absl::Status encoded;
    const auto encode = [&](Sink sink) {
      zarr::StoredHash hash;
      const auto hashed = [&](std::span<const std::byte> data) {
        return hash.Pass(data, kPieceBytes, sink);
      };
      encoded = zarr::EncodeChunk(codec, chunk, {}, io_, worker, stop, hashed);
      value = hash.Value();
      return encoded;
    };
    const auto written = target_.store.WritePieces(key, encode, std::nullopt, stop);
    if (!encoded.ok()) return Prefixed(encoded, target_.store.Describe(key));
    return written.status();
  }

  const SavePlan& plan_;
  const SaveTarget& target_;
  IoContext& io_;
  CodecCache codecs_;
  SaveDocuments documents_;
  std::vector<Work> works_;
  std::vector<Job> jobs_;
  std::vector<StoredChunk> stored_;  // by job
  SaveProgress total_;
  int64_t need_ = 0;
};

constexpr size_t kNumbers = 5;  // of a chunk
constexpr size_t kChunkBytes = kNumbers * sizeof(uint64_t);

}  // namespace

Bytes EncodeStoredChunks(std::span<const StoredChunk> chunks) {
  std::vector<std::byte> encoded(chunks.size() * kChunkBytes);
  std::byte* next = encoded.data();
  for (const StoredChunk& chunk : chunks) {
    const uint64_t numbers[kNumbers] = {static_cast<uint64_t>(chunk.array),
                                        static_cast<uint64_t>(chunk.cell), chunk.value.size,
                                        chunk.value.hash.high, chunk.value.hash.low};
    std::memcpy(next, numbers, kChunkBytes);
    next += kChunkBytes;
  }
  return Bytes::Take(std::move(encoded));
}

absl::StatusOr<std::vector<StoredChunk>> DecodeStoredChunks(std::span<const std::byte> encoded) {
  if (encoded.size() % kChunkBytes != 0) {
    return Internal("a list of chunks has ", encoded.size(), " bytes, no multiple of ",
                    kChunkBytes);
  }
  std::vector<StoredChunk> chunks;
  chunks.reserve(encoded.size() / kChunkBytes);
  for (; !encoded.empty(); encoded = encoded.subspan(kChunkBytes)) {
    uint64_t numbers[kNumbers];
    std::memcpy(numbers, encoded.data(), kChunkBytes);
    chunks.push_back({static_cast<int64_t>(numbers[0]),
                      static_cast<int64_t>(numbers[1]),
                      {numbers[2], {numbers[3], numbers[4]}}});
  }
  return chunks;
}

absl::StatusOr<std::vector<StoredChunk>> WriteParts(
    const SavePlan& plan, const Snapshot& snapshot, const SaveTarget& target, IoContext& io,
    const std::function<void(const SaveProgress&)>& progress, std::stop_token stop) {
  TESSERA_CHECK(!plan.codecs_open);
  Writer writer(plan, target, io);
  TESSERA_RETURN_IF_ERROR(writer.Prepare(snapshot));
  TESSERA_RETURN_IF_ERROR(writer.Run(progress, std::move(stop)));
  return writer.TakeStored();
}

}  // namespace tessera::checkpoint
