#include "tessera/safetensors/tensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/core/buffer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/destination.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/batches.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/fetch.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/safetensors/plan_set.h"
#include "tessera/safetensors/read.h"
#include "tessera/safetensors/stored_pieces.h"
#include "tessera/store/concurrent.h"

namespace tessera::safetensors {
namespace {

// Of elements that are copied on their way to the file.
constexpr size_t kRoomBytes = size_t{1} << 20;

// A file store of the folder that a file is in, and the file's key.
struct Place {
  std::unique_ptr<store::KvStore> store;
  std::string key;
};

absl::StatusOr<Place> PlaceOf(const std::string& path, const store::FileStoreOptions& options) {
  const std::filesystem::path file(path);
  if (!file.has_filename()) return InvalidArgument(Quoted(path), ": not the path of a file");
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  Place place{nullptr, file.filename().string()};
  TESSERA_ASSIGN_OR_RETURN(place.store, store::OpenFileStore(folder, options));
  return place;
}

// Memory that takes a whole tensor.
class DenseMemory final : public Destination {
 public:
  explicit DenseMemory(StridedView memory) : memory_(std::move(memory)) {}
  std::optional<StridedView> MemoryFor(const Box& box) override { return SubView(memory_, box); }
  absl::Status Put(const Box& box, const ConstStridedView& elements) override {
    return CopyStrided(elements, SubView(memory_, box));
  }

 private:
  const StridedView memory_;
};

absl::StatusOr<LoadedTensor> LoadTensor(store::KvStore& store, const SetFile& file,
                                        const Tensor& tensor, IoContext& io,
                                        const std::stop_token& stop) {
  LoadedTensor loaded{tensor.name, {tensor.shape, tensor.dtype}, nullptr};
  if (Box::Whole(tensor.shape).empty()) return loaded;
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(tensor.dtype, tensor.shape));
  loaded.memory = AllocateHostMemory(bytes);
  if (loaded.memory == nullptr) {
    return ResourceExhausted(store.Describe(file.name), ": tensor ", Quoted(tensor.name),
                             ": no memory for ", bytes, " bytes");
  }
  const Dims block_shape = BlockShape(tensor.shape, tensor.dtype);
  TESSERA_ASSIGN_OR_RETURN(const CellRange cells,
                           CellRange::Of(Box::Whole(tensor.shape), block_shape));
  std::vector<Box> blocks;
  for (int64_t i = 0; i < cells.size(); ++i) {
    blocks.push_back(CellBox(cells.at(i), block_shape, tensor.shape));
  }
  DenseMemory memory(loaded.view());
  TESSERA_RETURN_IF_ERROR(ReadParts(store, file, tensor, blocks, memory, io, {}, stop));
  return loaded;
}

uint64_t Aligned(uint64_t bytes) {
  constexpr uint64_t kAlignment = kHostAlignment;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Fills the tensors of a batch, which are several.
absl::Status LoadTogether(store::KvStore& store, const FileSet& set, const Batch& batch,
                          std::vector<LoadedTensor>& loaded, const std::stop_token& stop) {
  const SetFile& file = set.FileOf(set.tensors()[batch.front()]);
  const auto tensor_at = [&](size_t i) -> const Tensor& { return set.TensorOf(set.tensors()[i]); };
  uint64_t room = 0;
  for (const size_t i : batch) room += Aligned(tensor_at(i).end - tensor_at(i).begin);
  const std::shared_ptr<std::byte> memory = AllocateHostMemory(static_cast<int64_t>(room));
  if (memory == nullptr) {
    return ResourceExhausted(store.Describe(file.name), ": tensor ",
                             Quoted(tensor_at(batch.front()).name), " and ", batch.size() - 1,
                             " more: no memory for ", room, " bytes");
  }
  const uint64_t begin = tensor_at(batch.front()).begin;
  const uint64_t bytes = tensor_at(batch.back()).end - begin;
  // Read to the end of the memory, from where each moves to its place unless it is there already:
  // what lies between the two only becomes less, so none moves over another that is still to move.
  std::byte* from = memory.get() + (room - bytes);
  TESSERA_RETURN_IF_ERROR(FetchData(store, file, begin, {from, bytes}, stop));
  std::byte* to = memory.get();
  for (const size_t i : batch) {
    const Tensor& tensor = tensor_at(i);
    const uint64_t size = tensor.end - tensor.begin;
    if (to != from) std::memmove(to, from, size);
    TESSERA_RETURN_IF_ERROR(CheckBools(store, file, tensor, 0, {to, size}));
    loaded[i] = {tensor.name, {tensor.shape, tensor.dtype}, {memory, to}};
    from += size;
    to += Aligned(size);
  }
  return absl::OkStatus();
}

absl::StatusOr<MappedTensor> MapTensor(store::KvStore& store, const SetFile& file,
                                       const Tensor& tensor, const Bytes& mapped) {
  if (InfoOf(tensor.dtype).bits < 8) {
    return Unimplemented(store.Describe(file.name), ": tensor ", Quoted(tensor.name),
                         " has packed ", DTypeName(tensor.dtype),
                         " elements, which can only be loaded");
  }
  MappedTensor result{tensor.name, {tensor.shape, tensor.dtype}, {}};
  result.bytes = mapped.Slice(file.data_begin + tensor.begin, tensor.end - tensor.begin);
  const auto address = reinterpret_cast<uintptr_t>(result.bytes.data());
  result.aligned = address % static_cast<uintptr_t>(DTypeBytes(tensor.dtype)) == 0;
  return result;
}

absl::StatusOr<SetPlan> PlanFile(std::span<const TensorView> tensors,
                                 const SaveFileOptions& options) {
  std::vector<NewTensor> planned;
  for (const TensorView& tensor : tensors) {
    const ConstStridedView& elements = tensor.elements;
    if (elements.element_bytes != DTypeBytes(tensor.dtype) ||
        elements.strides.size() != elements.shape.size()) {
      return InvalidArgument("tensor ", Quoted(tensor.name), ": a view of elements of ",
                             elements.element_bytes, " bytes with ", elements.strides.size(),
                             " strides is none of ", DTypeName(tensor.dtype), " in shape ",
                             ShapeText(elements.shape));
    }
    planned.push_back({tensor.name, {elements.shape, tensor.dtype}});
  }
  return PlanSet(planned, {.metadata = options.metadata, .alignment = options.alignment});
}

// Hands pieces on, small ones together: a file of many small tensors is not written bit by bit.
class Gatherer {
 public:
  explicit Gatherer(Sink sink) : sink_(sink) { held_.Resize(kRoomBytes); }

  absl::Status Add(std::span<const std::byte> piece) {
    if (piece.size() > held_.size() - used_) TESSERA_RETURN_IF_ERROR(HandOn());
    if (piece.size() >= kLargePiece) {
      TESSERA_RETURN_IF_ERROR(HandOn());
      return sink_(piece);
    }
    std::copy(piece.begin(), piece.end(), held_.span().begin() + static_cast<ptrdiff_t>(used_));
    used_ += piece.size();
    return absl::OkStatus();
  }

  // What is still held.
  absl::Status HandOn() {
    const std::span<const std::byte> held = held_.span().first(std::exchange(used_, 0));
    return held.empty() ? absl::OkStatus() : sink_(held);
  }

 private:
  static constexpr size_t kLargePiece = kRoomBytes / 4;

  const Sink sink_;
  Buffer held_;
  size_t used_ = 0;
};

// The tensors' places in the list that was given, as they lie in the file.
std::vector<size_t> FileOrder(const SetPlan& plan) {
  std::vector<size_t> order(plan.places.size());
  for (size_t i = 0; i < plan.places.size(); ++i) order[plan.places[i].second] = i;
  return order;
}

const Metadata& MetadataOf(const FileSet& set) {
  static const Metadata none;
  return set.files().empty() ? none : set.files().front().header->metadata;
}

}  // namespace

absl::StatusOr<LoadedFile> LoadFile(store::KvStore& store, std::string_view key, IoContext& io,
                                    std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const FileSet set, FileSet::Open(store, key, io, stop));
  LoadedFile file{std::vector<LoadedTensor>(set.tensors().size()), MetadataOf(set)};
  const std::vector<Batch> batches = BatchesOf(set);
  // Large tensors are read by many threads anyway, small ones only if there are many at once.
  TESSERA_RETURN_IF_ERROR(store::ForEachIndex(
      io.pool(), io.pool().size(), batches.size(), store.Describe(key), std::move(stop),
      [&](size_t i, const std::stop_token& token) -> absl::Status {
        if (batches[i].size() > 1) return LoadTogether(store, set, batches[i], file.tensors, token);
        const TensorPlace& place = set.tensors()[batches[i].front()];
        TESSERA_ASSIGN_OR_RETURN(
            file.tensors[batches[i].front()],
            LoadTensor(store, set.FileOf(place), set.TensorOf(place), io, token));
        return absl::OkStatus();
      }));
  return file;
}

absl::StatusOr<LoadedFile> LoadFile(const std::string& path, IoContext& io, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const Place place, PlaceOf(path, {.create_root = false}));
  return LoadFile(*place.store, place.key, io, std::move(stop));
}

absl::StatusOr<MappedFile> MapTensors(store::KvStore& store, std::string_view key, IoContext& io,
                                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const FileSet set, FileSet::Open(store, key, io, stop));
  std::vector<Bytes> mapped;
  for (const SetFile& file : set.files()) {
    TESSERA_ASSIGN_OR_RETURN(Bytes bytes, store.Map(file.name, stop));
    if (bytes.size() != file.size) {
      return Aborted(store.Describe(file.name), ": was replaced while it was read");
    }
    mapped.push_back(std::move(bytes));
  }
  MappedFile result{{}, MetadataOf(set)};
  for (const TensorPlace& place : set.tensors()) {
    TESSERA_ASSIGN_OR_RETURN(
        MappedTensor tensor,
        MapTensor(store, set.FileOf(place), set.TensorOf(place), mapped[place.file]));
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

absl::StatusOr<MappedFile> MapTensors(const std::string& path, IoContext& io,
                                      std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const Place place, PlaceOf(path, {.create_root = false}));
  return MapTensors(*place.store, place.key, io, std::move(stop));
}

absl::Status SaveFile(store::KvStore& store, std::string_view key,
                      std::span<const TensorView> tensors, const SaveFileOptions& options,
                      std::stop_token stop) {
  const auto plan = PlanFile(tensors, options);
  if (!plan.ok()) return Prefixed(plan.status(), store.Describe(key));
  const PlannedFile& file = plan->files.front();
  // One stream: the kernel lets one writer at a time into a file, so more of them were no faster.
  const auto produce = [&](Sink sink) -> absl::Status {
    Gatherer gatherer(sink);
    TESSERA_RETURN_IF_ERROR(gatherer.Add(std::as_bytes(std::span(file.header_bytes))));
    Buffer room;
    room.Resize(kRoomBytes);
    for (const size_t i : FileOrder(*plan)) {
      if (stop.stop_requested()) return Cancelled(store.Describe(key), ": stopped while writing");
      TESSERA_RETURN_IF_ERROR(ForEachStoredPiece(
          tensors[i].elements, tensors[i].dtype, room,
          [&](uint64_t, std::span<const std::byte> piece) { return gatherer.Add(piece); }));
    }
    return gatherer.HandOn();
  };
  return store.WritePieces(key, produce, std::nullopt, stop).status();
}

absl::Status SaveFile(const std::string& path, std::span<const TensorView> tensors,
                      const SaveFileOptions& options, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const Place place,
                           PlaceOf(path, {.durability = options.durability, .create_root = false}));
  return SaveFile(*place.store, place.key, tensors, options, std::move(stop));
}

}  // namespace tessera::safetensors
