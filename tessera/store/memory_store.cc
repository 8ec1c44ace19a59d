#include "tessera/store/memory_store.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/key.h"

namespace tessera::store {
namespace {

class MemoryStore final : public KvStore {
 public:
  explicit MemoryStore(const MemoryStoreOptions& options) : options_(options) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return ReadResult{};
    const Value& value = found->second;
    const auto part = Resolve(range, value.size());
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    return ReadResult{value.Slice(*part), value.generation, value.size()};
  }

  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    return ReadOneByOne(*this, requests, std::move(stop));
  }

  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    Bytes bytes = Bytes::CopyOf(value);
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(CheckGeneration(key, if_generation));
    const Generation generation = NextGeneration();
    values_.insert_or_assign(std::string(key), Value{generation, std::move(bytes)});
    return generation;
  }

  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(CheckGeneration(key, if_generation));
    const auto found = values_.find(key);
    if (found != values_.end()) values_.erase(found);
    return absl::OkStatus();
  }

  absl::Status DeletePrefix(std::string_view prefix, std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    MutexLock lock(mutex_);
    auto next = values_.lower_bound(prefix);
    while (next != values_.end() && next->first.starts_with(prefix)) next = values_.erase(next);
    return absl::OkStatus();
  }

  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    if (!options_.moves) return KvStore::MovePrefix(from, to, std::move(stop));
    TESSERA_RETURN_IF_ERROR(ValidateMove(from, to));
    MutexLock lock(mutex_);
    std::vector<std::pair<std::string, Value>> moved;
    auto next = values_.lower_bound(from);
    while (next != values_.end() && next->first.starts_with(from)) {
      moved.emplace_back(Concat(to, std::string_view(next->first).substr(from.size())),
                         std::move(next->second));
      next = values_.erase(next);
    }
    for (auto& [key, value] : moved) values_.insert_or_assign(std::move(key), std::move(value));
    return absl::OkStatus();
  }

  bool moves() const override { return options_.moves; }

  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix, std::stop_token) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    std::vector<ListEntry> entries;
    MutexLock lock(mutex_);
    for (auto next = values_.lower_bound(prefix);
         next != values_.end() && next->first.starts_with(prefix); ++next) {
      entries.push_back({next->first, next->second.size()});
    }
    return entries;
  }

  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    if (!options_.writes_parts) return KvStore::Reserve(key, size, std::move(stop));
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    std::vector<std::byte> room(size);
    MutexLock lock(mutex_);
    values_.insert_or_assign(std::string(key), Value{NextGeneration(), {}, std::move(room)});
    return absl::OkStatus();
  }

  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    if (!options_.writes_parts) return KvStore::WriteAt(key, offset, data, std::move(stop));
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    MutexLock lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return NotFound(Describe(key), ": no value to write into");
    Value& value = found->second;
    const auto part = Resolve({offset, data.size()}, value.size());
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    if (!value.room.has_value()) {
      value.room.emplace(value.bytes.span().begin(), value.bytes.span().end());
      value.bytes = {};
    }
    std::copy(data.begin(), data.end(), value.room->begin() + static_cast<ptrdiff_t>(offset));
    value.generation = NextGeneration();
    return absl::OkStatus();
  }

  bool writes_parts() const override { return options_.writes_parts; }

  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    TESSERA_ASSIGN_OR_RETURN(const ReadResult result, Read(key, {}, std::move(stop)));
    if (result.value.has_value()) return *result.value;
    return NotFound(Describe(key), ": no value to look at");
  }

  std::string Describe(std::string_view key) const override { return Concat("memory:", key); }

 private:
  // Either bytes that readers share, or room that is written into and that they get copies of.
  struct Value {
    Generation generation;
    Bytes bytes;
    std::optional<std::vector<std::byte>> room = {};

    uint64_t size() const { return room.has_value() ? room->size() : bytes.size(); }
    // A slice of shared bytes costs no copy, so ReadInto and ReadAll make only their own.
    Bytes Slice(const ResolvedRange& part) const {
      if (!room.has_value()) return bytes.Slice(part.offset, part.length);
      return Bytes::CopyOf(std::span(*room).subspan(part.offset, part.length));
    }
  };

  Generation NextGeneration() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {std::to_string(++last_generation_)};
  }

  absl::Status CheckGeneration(std::string_view key, const std::optional<Generation>& expected)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!expected.has_value()) return absl::OkStatus();
    const auto found = values_.find(key);
    const Generation current =
        found == values_.end() ? Generation::Missing() : found->second.generation;
    if (current == *expected) return absl::OkStatus();
    return Aborted(Describe(key), ": the value is of another generation than expected");
  }

  const MemoryStoreOptions options_;
  Mutex mutex_;
  std::map<std::string, Value, std::less<>> values_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<KvStore> MakeMemoryStore(const MemoryStoreOptions& options) {
  return std::make_unique<MemoryStore>(options);
}

}  // namespace tessera::store
