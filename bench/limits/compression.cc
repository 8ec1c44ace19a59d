// unzstd and zstd: libzstd alone on the chunks of stored arrays, which are in memory already; or
// with the file system, which reads each chunk before (read=1) or takes it afterwards (to=FOLDER).
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/limits/machine.h"
#include "bench/limits/verbs.h"
#include "tessera/core/status.h"

namespace tessera::bench {
namespace {

// A chunk as it is stored, and the place of its elements in memory that holds all of them.
struct Chunk {
  std::string path;
  std::vector<std::byte> stored;
  size_t place = 0;
  size_t size = 0;
};

struct Chunks {
  std::vector<Chunk> all;
  size_t bytes = 0;  // decoded

  int64_t stored_bytes() const {
    size_t sum = 0;
    for (const Chunk& chunk : all) sum += chunk.stored.size();
    return static_cast<int64_t>(sum);
  }
};

bool IsZstd(std::span<const std::byte> data) {
  return data.size() >= 4 && std::memcmp(data.data(), "\x28\xb5\x2f\xfd", 4) == 0;
}

absl::StatusOr<Chunks> ReadChunks(const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<File> files, FilesBelow(folder));
  Chunks chunks;
  for (const File& file : files) {
    std::vector<std::byte> stored(file.size);
    TESSERA_RETURN_IF_ERROR(ReadAt(file.path, 0, stored));
    if (!IsZstd(stored)) continue;  // metadata
    const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
      return Unimplemented(file.path, ": its frame does not tell how long it is");
    }
    chunks.all.push_back({file.path, std::move(stored), chunks.bytes, size});
    chunks.bytes += size;
  }
  if (chunks.all.empty()) return NotFound(folder, ": no file below it is a zstd frame");
  return chunks;
}

absl::Status Decode(const Chunk& chunk, std::span<const std::byte> stored, const Memory& memory) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  const size_t size = ZSTD_decompressDCtx(context.get(), memory.data() + chunk.place, chunk.size,
                                          stored.data(), stored.size());
  if (size == chunk.size) return absl::OkStatus();
  return DataLoss("a chunk of ", chunk.size, " bytes does not decode");
}

absl::Status ReadAndDecode(const Chunk& chunk, const Memory& memory) {
  thread_local std::vector<std::byte> room;
  room.resize(std::max(room.size(), chunk.stored.size()));
  const std::span<std::byte> stored = std::span(room).first(chunk.stored.size());
  TESSERA_RETURN_IF_ERROR(ReadAt(chunk.path, 0, stored));
  return Decode(chunk, stored, memory);
}

absl::Status DecodeAll(const Chunks& chunks, bool read, const Memory& memory) {
  return OnAllCores(chunks.all.size(), [&](size_t i) {
    const Chunk& chunk = chunks.all[i];
    return read ? ReadAndDecode(chunk, memory) : Decode(chunk, chunk.stored, memory);
  });
}

// What it becomes, in memory of this thread.  `most` is the size of the largest chunk.
absl::StatusOr<std::span<const std::byte>> Encode(std::span<const std::byte> elements, size_t most,
                                                  int level) {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  thread_local const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  thread_local const auto room =
      std::make_unique_for_overwrite<std::byte[]>(ZSTD_compressBound(most));
  const size_t size = ZSTD_compressCCtx(context.get(), room.get(), ZSTD_compressBound(most),
                                        elements.data(), elements.size(), level);
  if (ZSTD_isError(size) != 0) return Internal(ZSTD_getErrorName(size));
  return std::span<const std::byte>(room.get(), size);
}

}  // namespace

absl::StatusOr<Result> LimitUnzstd(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const bool fresh, arguments.FlagOr("fresh", true));
  TESSERA_ASSIGN_OR_RETURN(const bool read, arguments.FlagOr("read", false));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const Chunks chunks, ReadChunks(arguments.Text("dir")));
  std::unique_ptr<Memory> memory;
  const auto renew = [&]() -> absl::Status {
    memory.reset();  // before the next one is taken
    TESSERA_ASSIGN_OR_RETURN(memory, Memory::Make(chunks.bytes));
    if (!fresh) memory->Touch();
    return absl::OkStatus();
  };
  Result result{.bytes = static_cast<int64_t>(chunks.bytes)};
  TESSERA_ASSIGN_OR_RETURN(result.measured,
                           Measure(warm, renew, [&] { return DecodeAll(chunks, read, *memory); }));
  result.more = {{"chunks", static_cast<int64_t>(chunks.all.size())},
                 {"stored_bytes", chunks.stored_bytes()}};
  return result;
}

absl::StatusOr<Result> LimitZstd(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t level, arguments.CountOr("level", 1));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const Chunks chunks, ReadChunks(arguments.Text("dir")));
  TESSERA_ASSIGN_OR_RETURN(const auto memory, Memory::Make(chunks.bytes));
  TESSERA_RETURN_IF_ERROR(DecodeAll(chunks, false, *memory));
  const std::string folder =
      arguments.Has("to") ? arguments.Text("to") + "/bench_limits_zstd" : std::string();
  size_t most = 0;
  for (const Chunk& chunk : chunks.all) most = std::max(most, chunk.size);
  std::atomic<size_t> stored{0};
  const auto reset = [&] {
    stored = 0;
    return folder.empty() ? absl::OkStatus() : MakeEmptyFolder(folder);
  };
  const auto encode = [&](size_t i) -> absl::Status {
    const Chunk& chunk = chunks.all[i];
    TESSERA_ASSIGN_OR_RETURN(
        const auto encoded,
        Encode(memory->span().subspan(chunk.place, chunk.size), most, static_cast<int>(level)));
    stored += encoded.size();
    return folder.empty() ? absl::OkStatus() : WriteAt(Concat(folder, "/", i), 0, encoded);
  };
  Result result{.bytes = static_cast<int64_t>(chunks.bytes)};
  const auto measured = Measure(warm, reset, [&] { return OnAllCores(chunks.all.size(), encode); });
  if (!folder.empty()) TESSERA_RETURN_IF_ERROR(Remove(folder));
  TESSERA_ASSIGN_OR_RETURN(result.measured, measured);
  result.more = {{"chunks", static_cast<int64_t>(chunks.all.size())},
                 {"stored_bytes", static_cast<int64_t>(stored.load())}};
  return result;
}

}  // namespace tessera::bench
