#include "tessera/store/kv_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/thread_pool.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/key.h"

namespace tessera::store {
namespace {

// Each holds a whole value in memory.
constexpr size_t kMostMovesAtOnce = 8;

std::string RangeText(const ByteRange& range) {
  if (range.from_end) return Concat("the last ", range.length.value_or(0), " bytes");
  if (!range.length.has_value()) return Concat("bytes from ", range.offset);
  return Concat(*range.length, " bytes from ", range.offset);
}

// Copies what was read, if anything, to the front of `target`, which has room for it.
ValueInfo CopiedTo(std::span<std::byte> target, ReadResult result) {
  if (!result.value.has_value()) return {};
  if (!result.value->empty()) {
    std::memcpy(target.data(), result.value->data(), result.value->size());
  }
  return {std::move(result.generation), result.size};
}

}  // namespace

absl::StatusOr<ResolvedRange> Resolve(const ByteRange& range, uint64_t size) {
  const uint64_t length = range.length.value_or(range.offset <= size ? size - range.offset : 0);
  const uint64_t offset = range.from_end ? size - length : range.offset;
  if (length > size || (!range.from_end && offset > size - length)) {
    return absl::OutOfRangeError(Concat(RangeText(range), " of a value of ", size, " bytes"));
  }
  if (range.most.has_value() && length > *range.most) {
    return absl::OutOfRangeError(Concat(RangeText(range), " of a value of ", size,
                                        " bytes: more than the ", *range.most,
                                        " that were allowed"));
  }
  return ResolvedRange{offset, length};
}

absl::StatusOr<ValueInfo> KvStore::ReadInto(std::string_view key, uint64_t offset,
                                            std::span<std::byte> target, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(ReadResult result, Read(key, {offset, target.size()}, std::move(stop)));
  return CopiedTo(target, std::move(result));
}

absl::StatusOr<ValueInfo> KvStore::ReadAll(std::string_view key, std::span<std::byte> target,
                                           std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(ReadResult result,
                           Read(key, ByteRange::AtMost(target.size()), std::move(stop)));
  return CopiedTo(target, std::move(result));
}

absl::StatusOr<ValueInfo> KvStore::ReadPieces(std::string_view key, const ByteRange& range,
                                              std::span<std::byte>, Sink sink,
                                              std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const ReadResult result, Read(key, range, std::move(stop)));
  if (!result.value.has_value()) return ValueInfo{};
  TESSERA_RETURN_IF_ERROR(sink(result.value->span()));
  return ValueInfo{result.generation, result.size};
}

absl::StatusOr<ValueInfo> KvStore::WritePieces(std::string_view key, Producer producer,
                                               const std::optional<Generation>& if_generation,
                                               std::stop_token stop) {
  std::vector<std::byte> value;
  TESSERA_RETURN_IF_ERROR(producer([&](std::span<const std::byte> piece) {
    value.insert(value.end(), piece.begin(), piece.end());
    return absl::OkStatus();
  }));
  TESSERA_ASSIGN_OR_RETURN(Generation generation,
                           Write(key, value, if_generation, std::move(stop)));
  return ValueInfo{std::move(generation), value.size()};
}

absl::Status KvStore::MovePrefix(std::string_view from, std::string_view to, std::stop_token stop) {
  TESSERA_RETURN_IF_ERROR(ValidateMove(from, to));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<ListEntry> entries, List(from, stop));
  if (entries.empty()) return absl::OkStatus();
  const auto move = [&](size_t i, const std::stop_token& token) -> absl::Status {
    const std::string& key = entries[i].key;
    TESSERA_ASSIGN_OR_RETURN(const ReadResult result, Read(key, {}, token));
    if (!result.value.has_value()) return absl::OkStatus();
    const std::string target = Concat(to, std::string_view(key).substr(from.size()));
    TESSERA_RETURN_IF_ERROR(Write(target, result.value->span(), std::nullopt, token));
    return Delete(key, std::nullopt, token);
  };
  const int width = static_cast<int>(std::min<size_t>(entries.size(), kMostMovesAtOnce));
  ThreadPool pool(width);
  return ForEachIndex(pool, width, entries.size(), Describe(from), std::move(stop), move);
}

absl::Status KvStore::Flush(std::stop_token) { return absl::OkStatus(); }

absl::StatusOr<std::vector<ReadResult>> KvStore::ReadMany(std::span<const ReadRequest> requests,
                                                          std::stop_token stop) {
  if (requests.size() <= 1) return ReadOneByOne(*this, requests, std::move(stop));
  const int width = static_cast<int>(std::min<size_t>(requests.size(), kMostRequestsAtOnce));
  ThreadPool pool(width);
  return ReadManyOn(pool, width, *this, requests, std::move(stop));
}

absl::Status KvStore::Reserve(std::string_view key, uint64_t /*size*/, std::stop_token /*stop*/) {
  return Unimplemented(Describe(key), ": this store writes values only as a whole");
}

absl::Status KvStore::WriteAt(std::string_view key, uint64_t /*offset*/,
                              std::span<const std::byte> /*data*/, std::stop_token /*stop*/) {
  return Unimplemented(Describe(key), ": this store writes values only as a whole");
}

absl::StatusOr<Bytes> KvStore::Map(std::string_view key, std::stop_token /*stop*/) {
  return Unimplemented(Describe(key), ": this store has no memory to look at");
}

}  // namespace tessera::store
