#include "tessera/store/memory_store.h"

#include <map>
#include <utility>

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
    const auto part = Resolve(range, found->second.bytes.size());
    if (!part.ok()) return Prefixed(part.status(), Describe(key));
    // A slice shares the value's memory, so ReadInto and ReadAll copy once as they are.
    return ReadResult{found->second.bytes.Slice(part->offset, part->length),
                      found->second.generation, found->second.bytes.size()};
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
    Generation generation{std::to_string(++last_generation_)};
    values_.insert_or_assign(std::string(key), Value{std::move(bytes), generation});
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
      entries.push_back({next->first, next->second.bytes.size()});
    }
    return entries;
  }

  std::string Describe(std::string_view key) const override { return Concat("memory:", key); }

 private:
  struct Value {
    Bytes bytes;
    Generation generation;
  };

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
