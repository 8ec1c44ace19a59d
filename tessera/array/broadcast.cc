#include "tessera/array/broadcast.h"

#include <cstring>
#include <utility>

#include "tessera/array/row_chunks.h"
#include "tessera/core/bytes.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/device/parallel_copy.h"

namespace tessera::array {
namespace {

absl::Status CheckRootValue(const ShapeDtype& array, const HostArray* value) {
  if (value == nullptr) return InvalidArgument("broadcast_tensor: the root has no array to send");
  if (value->shape_dtype() == array) return absl::OkStatus();
  return InvalidArgument("broadcast_tensor: the root sends ", DTypeName(value->dtype()),
                         ShapeText(value->shape()), "; expected ", DTypeName(array.dtype),
                         ShapeText(array.shape));
}

// Dense memory of the whole array.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateArray(int64_t bytes) {
  auto memory = AllocateHostMemory(bytes);
  if (bytes > 0 && memory == nullptr) {
    return ResourceExhausted("broadcast_tensor: the system has no ", bytes, " bytes");
  }
  return memory;
}

// The chunk's elements next to each other; its own memory where they are so already.
absl::StatusOr<Bytes> DenseChunk(const HostArray& chunk) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(chunk.dtype(), chunk.shape()));
  if (IsDense(chunk.view())) {
    return Bytes::Borrow({chunk.view().data, static_cast<size_t>(bytes)}, chunk.owner());
  }
  TESSERA_ASSIGN_OR_RETURN(const auto memory, AllocateArray(bytes));
  TESSERA_RETURN_IF_ERROR(device::CopyStridedInParallel(
      chunk.view(), RowMajorView(memory.get(), chunk.shape(), DTypeBytes(chunk.dtype()))));
  return Bytes::Borrow({memory.get(), static_cast<size_t>(bytes)}, memory);
}

absl::Status SendAll(const HostArray& value, comm::Comm& comm,
                     const BroadcastTensorOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const auto chunks, ChunkTensorByMemory(value, options.max_bytes));
  for (const HostChunk& chunk : chunks) {
    auto bytes = DenseChunk(chunk.array);
    if (!bytes.ok()) {
      comm.Abort(bytes.status());
      return bytes.status();
    }
    TESSERA_RETURN_IF_ERROR(comm.Broadcast(*std::move(bytes), options.root, options.limit));
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(std::span<std::byte> target, size_t chunks, comm::Comm& comm,
                        const BroadcastTensorOptions& options) {
  for (size_t i = 0; i < chunks; ++i) {
    TESSERA_ASSIGN_OR_RETURN(const Bytes bytes, comm.Broadcast({}, options.root, options.limit));
    if (bytes.size() > target.size()) {
      return Internal("broadcast_tensor: chunk ", i, " has ", bytes.size(), " bytes, but ",
                      target.size(), " are left");
    }
    if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
    target = target.subspan(bytes.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<HostChunk>> ChunkTensorByMemory(const HostArray& array,
                                                           int64_t max_bytes) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<RowChunk> cuts,
                           ChunkTensorByMemory(array.shape_dtype(), max_bytes));
  std::vector<HostChunk> chunks;
  chunks.reserve(cuts.size());
  for (const RowChunk& cut : cuts) {
    chunks.push_back({cuts.size() == 1 ? array : array.Rows(cut.begin, cut.rows), cut.over_limit});
  }
  return chunks;
}

absl::StatusOr<HostArray> BroadcastTensor(const ShapeDtype& array, const HostArray* value,
                                          comm::Comm& comm, const BroadcastTensorOptions& options) {
  TESSERA_RETURN_IF_ERROR(AgreeOnArray(array, Concat(" in pieces of ", options.max_bytes, " bytes"),
                                       comm, options.limit));
  const bool sends = comm.rank() == options.root;
  std::shared_ptr<std::byte> memory;
  size_t chunks = 0;
  const auto begin = [&]() -> absl::Status {
    if (sends) TESSERA_RETURN_IF_ERROR(CheckRootValue(array, value));
    TESSERA_ASSIGN_OR_RETURN(const auto cuts, ChunkTensorByMemory(array, options.max_bytes));
    chunks = cuts.size();
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype, array.shape));
    if (sends) return absl::OkStatus();
    TESSERA_ASSIGN_OR_RETURN(memory, AllocateArray(bytes));
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(comm.Agree(begin(), options.limit));
  if (sends) {
    TESSERA_RETURN_IF_ERROR(SendAll(*value, comm, options));
    return *value;
  }
  const auto bytes = static_cast<size_t>(*NumBytes(array.dtype, array.shape));
  TESSERA_RETURN_IF_ERROR(ReceiveAll({memory.get(), bytes}, chunks, comm, options));
  const std::byte* const data = memory.get();
  return HostArray::Borrow(RowMajorView(data, array.shape, DTypeBytes(array.dtype)), array.dtype,
                           std::move(memory));
}

absl::StatusOr<ShardedArray> BroadcastTensor(const ShapeDtype& array, const HostArray* value,
                                             const mesh::Sharding& sharding, const Mover& mover,
                                             const BroadcastTensorOptions& options) {
  TESSERA_RETURN_IF_ERROR(mesh::ShardShape(sharding, array.shape));
  TESSERA_ASSIGN_OR_RETURN(const HostArray host,
                           BroadcastTensor(array, value, mover.comm, options));
  return Place(host, sharding, mover);
}

}  // namespace tessera::array
