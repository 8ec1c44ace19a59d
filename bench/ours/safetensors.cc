// st_load, st_open and st_save: one safetensors file.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/ours/verbs.h"
#include "tessera/core/io_context.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/file_set.h"
#include "tessera/safetensors/tensors.h"
#include "tessera/store/file_store.h"
#include "tessera/store/key.h"

namespace tessera::bench {
namespace {

using safetensors::LoadedFile;
using safetensors::LoadedTensor;

absl::StatusOr<int64_t> BytesOf(const LoadedFile& file) {
  int64_t sum = 0;
  for (const LoadedTensor& tensor : file.tensors) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(tensor.about.dtype, tensor.about.shape));
    sum += bytes;
  }
  return sum;
}

// Looks at one byte of each page, so that all of them are there.
absl::StatusOr<uint64_t> TouchPages(const LoadedFile& file) {
  constexpr int64_t kPage = 4096;
  uint64_t sum = 0;
  for (const LoadedTensor& tensor : file.tensors) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(tensor.about.dtype, tensor.about.shape));
    for (int64_t at = 0; at < bytes; at += kPage) {
      sum += std::to_integer<uint64_t>(tensor.memory.get()[at]);
    }
  }
  return sum;
}

absl::StatusOr<std::string> DigestOfFile(LoadedFile& file) {
  std::sort(file.tensors.begin(), file.tensors.end(),
            [](const LoadedTensor& a, const LoadedTensor& b) { return a.name < b.name; });
  Digest digest;
  for (const LoadedTensor& tensor : file.tensors) {
    TESSERA_RETURN_IF_ERROR(digest.Add(AsConst(tensor.view())));
  }
  return digest.Hex();
}

}  // namespace

absl::StatusOr<Result> SafetensorsLoad(const Arguments& arguments) {
  const std::string path = arguments.Text("file");
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  TESSERA_RETURN_IF_ERROR(CheckThere(path));
  IoContext io;
  LoadedFile file;
  uint64_t sum = 0;
  const auto drop = [&] {
    file = {};
    return absl::OkStatus();
  };
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(file, safetensors::LoadFile(path, io));
                             TESSERA_ASSIGN_OR_RETURN(sum, TouchPages(file));
                             return absl::OkStatus();
                           }));
  TESSERA_ASSIGN_OR_RETURN(result.bytes, BytesOf(file));
  // The sum is told, so that no compiler can leave the look at the pages out.
  result.more = {{"arrays", static_cast<int64_t>(file.tensors.size())},
                 {"page_sum", static_cast<int64_t>(sum)}};
  if (!wants_digest) return result;
  TESSERA_ASSIGN_OR_RETURN(result.digest, DigestOfFile(file));
  return result;
}

absl::StatusOr<Result> SafetensorsOpen(const Arguments& arguments) {
  const std::string path = arguments.Text("file");
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_RETURN_IF_ERROR(CheckThere(path));
  const auto [folder, name] = store::SplitKey(path);
  IoContext io;
  std::optional<safetensors::FileSet> set;
  const auto drop = [&] {
    set.reset();
    return absl::OkStatus();
  };
  Result result;
  TESSERA_ASSIGN_OR_RETURN(
      result.measured, Measure(warm, drop, [&]() -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const auto store,
                                 store::OpenFileStore(folder.empty() ? "." : std::string(folder),
                                                      {.create_root = false}));
        TESSERA_ASSIGN_OR_RETURN(set, safetensors::FileSet::Open(*store, name, io));
        return absl::OkStatus();
      }));
  // Of the header: nothing else is read.
  for (const safetensors::SetFile& file : set->files()) {
    result.bytes += static_cast<int64_t>(file.data_begin);
  }
  result.more = {{"arrays", static_cast<int64_t>(set->tensors().size())}};
  return result;
}

absl::StatusOr<Result> SafetensorsSave(const Arguments& arguments) {
  const std::string from = arguments.Text("from"), to = arguments.Text("to");
  TESSERA_ASSIGN_OR_RETURN(const bool sync, arguments.FlagOr("sync", false));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_RETURN_IF_ERROR(CheckThere(from));
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const LoadedFile file, safetensors::LoadFile(from, io));
  std::vector<safetensors::TensorView> tensors;
  for (const LoadedTensor& tensor : file.tensors) {
    tensors.push_back({tensor.name, tensor.about.dtype, AsConst(tensor.view())});
  }
  const safetensors::SaveFileOptions options{
      .metadata = file.metadata,
      .durability = sync ? store::Durability::kDisk : store::Durability::kKernel};
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured,
                           Measure(
                               warm, [&] { return Remove(to); },
                               [&] { return safetensors::SaveFile(to, tensors, options); }));
  TESSERA_ASSIGN_OR_RETURN(result.bytes, BytesOf(file));
  result.more = {{"arrays", static_cast<int64_t>(tensors.size())}};
  return result;
}

}  // namespace tessera::bench
