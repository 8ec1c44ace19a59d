// zarr_read and zarr_write: folders of zarr v2 arrays from and to host memory.
//
// README.md tells C++ users to read one array with zarr::Array and the arrays of a folder with
// checkpoint::Load, which reads many at once; so one array goes the first way here and several the
// second.  Nobody has written hashes of such folders down, so there is nothing to verify.
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "bench/ours/state.h"
#include "bench/ours/verbs.h"
#include "tessera/core/host_memory.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"
#include "tessera/device/host_platform.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

bool IsArray(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / ".zarray", error);
}

// Their paths from `root` on.  Array folders are not looked into: they may hold many chunks.
absl::StatusOr<std::vector<std::string>> FindArrays(const std::string& root) {
  TESSERA_RETURN_IF_ERROR(CheckThere(root));
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(root, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_directory(error) || !IsArray(it->path())) continue;
    names.push_back(it->path().lexically_relative(root).generic_string());
    it.disable_recursion_pending();
  }
  if (error) return FailedPrecondition(root, ": ", error.message());
  if (names.empty()) return NotFound(root, ": no folder below it holds a .zarray");
  return names;
}

// A whole array in memory of its own.
struct ReadArray {
  std::shared_ptr<std::byte> memory;
  ConstStridedView view;
};

absl::StatusOr<ReadArray> ReadWhole(const std::string& root, const std::string& name,
                                    IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(root, {.create_root = false}));
  TESSERA_ASSIGN_OR_RETURN(const zarr::Array array, zarr::Array::Open(*store, name));
  const auto& [shape, dtype] = array.shape_dtype();
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(dtype, shape));
  ReadArray read{AllocateHostMemory(bytes), {}};
  if (read.memory == nullptr && bytes > 0) return ResourceExhausted("no memory for ", name);
  const StridedView target = RowMajorView(read.memory.get(), shape, DTypeBytes(dtype));
  TESSERA_ASSIGN_OR_RETURN(const zarr::ReadReport report,
                           array.Read(Box::Whole(shape), target, io));
  if (report.absent_chunks > 0) {
    return DataLoss(name, ": ", report.absent_chunks, " chunks are not there");
  }
  read.view = AsConst(target);
  return read;
}

absl::StatusOr<Result> ReadOne(const std::string& root, const std::string& name,
                               const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  IoContext io;
  std::optional<ReadArray> read;
  Result result;
  const auto drop = [&] {
    read.reset();
    return absl::OkStatus();
  };
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(read, ReadWhole(root, name, io));
                             return absl::OkStatus();
                           }));
  TESSERA_ASSIGN_OR_RETURN(const int64_t elements, NumElements(read->view.shape));
  result.bytes = elements * read->view.element_bytes;
  result.more = {{"arrays", int64_t{1}}};
  if (!wants_digest) return result;
  Digest digest;
  TESSERA_RETURN_IF_ERROR(digest.Add(read->view));
  result.digest = digest.Hex();
  return result;
}

absl::StatusOr<Result> ReadMany(const std::string& root, const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({}));
  IoContext io;
  std::optional<checkpoint::LoadResult> loaded;
  Result result;
  const auto drop = [&] {
    loaded.reset();
    return absl::OkStatus();
  };
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, drop, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(loaded, LoadWhole(root, *platform, io));
                             return absl::OkStatus();
                           }));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<NamedArray> arrays, ArraysOf(loaded->tree));
  TESSERA_ASSIGN_OR_RETURN(result.bytes, PayloadBytes(arrays));
  result.more = {{"arrays", static_cast<int64_t>(arrays.size())}};
  if (!wants_digest) return result;
  TESSERA_ASSIGN_OR_RETURN(result.digest, DigestOf(arrays, *platform));
  return result;
}

// An array in memory, and how it is to be stored.
struct Source {
  std::string name;
  zarr::Metadata metadata;
  ConstStridedView elements;
};

absl::StatusOr<std::vector<Source>> SourcesOf(const std::string& from, std::string_view codec,
                                              std::span<const NamedArray> arrays) {
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(from, {.create_root = false}));
  std::vector<Source> sources;
  for (const NamedArray& each : arrays) {
    TESSERA_ASSIGN_OR_RETURN(const zarr::Array stored, zarr::Array::Open(*store, each.name));
    zarr::Metadata metadata = stored.metadata();
    metadata.codecs.compression.clear();
    if (codec == "zstd") metadata.codecs.compression.push_back(codec::ZstdSpec{.level = 1});
    const std::optional<ConstStridedView> elements = each.array.ToHostView();
    TESSERA_CHECK(elements.has_value());  // it was loaded whole
    sources.push_back({each.name, std::move(metadata), *elements});
  }
  return sources;
}

// All arrays at once; each writes its chunks at once on the same threads.  Returns stored bytes.
absl::StatusOr<int64_t> WriteAll(const std::string& to, store::Durability durability,
                                 std::span<const Source> sources, IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(to, {.durability = durability}));
  std::atomic<int64_t> stored{0};
  TaskGroup group(io.pool());
  for (const Source& source : sources) {
    group.Run([&](std::stop_token stop) -> absl::Status {
      TESSERA_ASSIGN_OR_RETURN(const zarr::Array array,
                               zarr::Array::Create(*store, source.name, source.metadata,
                                                   zarr::Array::IfThere::kFail, stop));
      TESSERA_ASSIGN_OR_RETURN(
          const zarr::WriteReport report,
          array.Write(Box::Whole(source.metadata.shape), source.elements, io, {}, stop));
      stored += report.bytes_written;
      return absl::OkStatus();
    });
  }
  TESSERA_RETURN_IF_ERROR(group.Join());
  return stored.load();
}

}  // namespace

absl::StatusOr<Result> ZarrRead(const Arguments& arguments) {
  const std::string root = arguments.Text("dir");
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> names, FindArrays(root));
  return names.size() == 1 ? ReadOne(root, names[0], arguments) : ReadMany(root, arguments);
}

absl::StatusOr<Result> ZarrWrite(const Arguments& arguments) {
  const std::string from = arguments.Text("from"), to = arguments.Text("to");
  constexpr std::string_view kCodecs[] = {"zstd", "none"};
  TESSERA_ASSIGN_OR_RETURN(const std::string codec, arguments.Choice("codec", kCodecs));
  TESSERA_ASSIGN_OR_RETURN(const bool sync, arguments.FlagOr("sync", false));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_RETURN_IF_ERROR(FindArrays(from));
  TESSERA_ASSIGN_OR_RETURN(const auto platform, device::MakeHostPlatform({}));
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::LoadResult loaded, LoadWhole(from, *platform, io));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<NamedArray> arrays, ArraysOf(loaded.tree));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Source> sources, SourcesOf(from, codec, arrays));
  const auto durability = sync ? store::Durability::kDisk : store::Durability::kKernel;
  Result result;
  int64_t stored = 0;
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(
                                                warm, [&] { return Remove(to); },
                                                [&]() -> absl::Status {
                                                  TESSERA_ASSIGN_OR_RETURN(
                                                      stored,
                                                      WriteAll(to, durability, sources, io));
                                                  return absl::OkStatus();
                                                }));
  TESSERA_ASSIGN_OR_RETURN(result.bytes, PayloadBytes(arrays));
  result.more = {{"arrays", static_cast<int64_t>(arrays.size())}, {"stored_bytes", stored}};
  return result;
}

}  // namespace tessera::bench
