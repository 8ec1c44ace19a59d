// Whole safetensors files from and to memory, for programs that have no mesh.
//
//   IoContext io;
//   const auto file = LoadFile("model.safetensors", io).value();
//   for (const LoadedTensor& tensor : file.tensors) Use(tensor.name, tensor.view());
#ifndef TESSERA_SAFETENSORS_TENSORS_H_
#define TESSERA_SAFETENSORS_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/bytes.h"
#include "tessera/core/io_context.h"
#include "tessera/core/shape.h"
#include "tessera/core/strided.h"
#include "tessera/store/file_store.h"
#include "tessera/store/kv_store.h"

namespace tessera::safetensors {

// Member "__metadata__" of a file; of a set, of its first file.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// A tensor in memory: dense, in C order, elements under a byte in a byte each.  Small ones that lie
// side by side in their file have one piece of it together, of a few MiB, which stays as long as
// one of them does.
struct LoadedTensor {
  std::string name;
  ShapeDtype about;
  std::shared_ptr<std::byte> memory;  // aligned to 64 bytes; nullptr without elements

  StridedView view() const {
    return RowMajorView(memory.get(), about.shape, DTypeBytes(about.dtype));
  }
};

struct LoadedFile {
  std::vector<LoadedTensor> tensors;
  Metadata metadata;
};

// Reads all tensors of a file, or of an index and its files, in parallel.  The errors of
// FileSet::Open and ReadParts; ResourceExhausted, naming the tensor, when there is no memory.
absl::StatusOr<LoadedFile> LoadFile(store::KvStore& store, std::string_view key, IoContext& io,
                                    std::stop_token stop = {});
absl::StatusOr<LoadedFile> LoadFile(const std::string& path, IoContext& io,
                                    std::stop_token stop = {});

// A tensor as it lies in its file, whose pages are read when they are looked at.
struct MappedTensor {
  std::string name;
  ShapeDtype about;
  Bytes bytes;  // keeps the mapping alive
  // Whether the first element lies at a multiple of its size.  Writers need not see to it, so look
  // at the elements of one that is not with memcpy.
  bool aligned = true;

  ConstStridedView view() const {
    return RowMajorView(bytes.data(), about.shape, DTypeBytes(about.dtype));
  }
};

struct MappedFile {
  std::vector<MappedTensor> tensors;
  Metadata metadata;
};

// The same without copying anything; only headers are read, so that no value is checked.  Who
// writes into the file changes what is seen, and who cuts it short ends the process; SaveFile does
// neither.  Unimplemented, naming tensor and dtype, for elements under a byte; the errors of
// FileSet::Open and KvStore::Map.
absl::StatusOr<MappedFile> MapTensors(store::KvStore& store, std::string_view key, IoContext& io,
                                      std::stop_token stop = {});
absl::StatusOr<MappedFile> MapTensors(const std::string& path, IoContext& io,
                                      std::stop_token stop = {});

// A tensor in memory of the caller; the view may lie in any order.
struct TensorView {
  std::string name;
  DType dtype = DType::kFloat32;
  ConstStridedView elements;
};

struct SaveFileOptions {
  Metadata metadata = {};
  uint64_t alignment = 8;  // of the data in the file
  // Of a path.  kKernel is what programs that do not sync their files have.
  store::Durability durability = store::Durability::kDisk;
};

// Writes one file: byte for byte what the reference writes for these tensors.  A reader sees the
// old file or the new one, never a part.  The errors of PlanSet, and InvalidArgument, naming the
// tensor, when a view is not of the size of its dtype's elements.
absl::Status SaveFile(store::KvStore& store, std::string_view key,
                      std::span<const TensorView> tensors, const SaveFileOptions& options = {},
                      std::stop_token stop = {});
absl::Status SaveFile(const std::string& path, std::span<const TensorView> tensors,
                      const SaveFileOptions& options = {}, std::stop_token stop = {});

}  // namespace tessera::safetensors

#endif  // TESSERA_SAFETENSORS_TENSORS_H_
