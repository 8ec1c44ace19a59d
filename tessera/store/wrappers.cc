#include "tessera/store/wrappers.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/store/forwarding_store.h"
#include "tessera/store/key.h"

namespace tessera::store {
namespace {

class PrefixStore final : public ForwardingStore {
 public:
  PrefixStore(KvStore& base, std::string prefix)
      : ForwardingStore(base), prefix_(std::move(prefix) + "/") {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().Read(prefix_ + std::string(key), range, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().ReadInto(prefix_ + std::string(key), offset, target, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().ReadAll(prefix_ + std::string(key), target, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().ReadPieces(prefix_ + std::string(key), range, room, sink, std::move(stop));
  }
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    std::vector<ReadRequest> below(requests.begin(), requests.end());
    for (ReadRequest& request : below) {
      TESSERA_RETURN_IF_ERROR(ValidateKey(request.key));
      request.key.insert(0, prefix_);
    }
    return base().ReadMany(below, std::move(stop));
  }
  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().Write(prefix_ + std::string(key), value, if_generation, std::move(stop));
  }
  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer producer,
                                        const std::optional<Generation>& if_generation,
                                        std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().WritePieces(prefix_ + std::string(key), producer, if_generation, std::move(stop));
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().Delete(prefix_ + std::string(key), if_generation, std::move(stop));
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    return base().DeletePrefix(prefix_ + std::string(prefix), std::move(stop));
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateMove(from, to));
    return base().MovePrefix(prefix_ + std::string(from), prefix_ + std::string(to),
                             std::move(stop));
  }
  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidatePrefix(prefix));
    TESSERA_ASSIGN_OR_RETURN(std::vector<ListEntry> entries,
                             base().List(prefix_ + std::string(prefix), std::move(stop)));
    for (ListEntry& entry : entries) entry.key.erase(0, prefix_.size());
    return entries;
  }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().Reserve(prefix_ + std::string(key), size, std::move(stop));
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().WriteAt(prefix_ + std::string(key), offset, data, std::move(stop));
  }
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(ValidateKey(key));
    return base().Map(prefix_ + std::string(key), std::move(stop));
  }
  std::string Describe(std::string_view key) const override {
    return base().Describe(prefix_ + std::string(key));
  }
  bool streams() const override { return base().streams(); }

 private:
  const std::string prefix_;
};

// Sleeps, but not past a stop.
void SleepFor(std::chrono::milliseconds delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, delay, [] { return false; });
}

class RetryStore final : public ForwardingStore {
 public:
  RetryStore(KvStore& base, const RetryOptions& options)
      : ForwardingStore(base), options_(options) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    return Repeat(stop, [&] { return base().Read(key, range, stop); });
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    return Repeat(stop, [&] { return base().ReadInto(key, offset, target, stop); });
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    return Repeat(stop, [&] { return base().ReadAll(key, target, stop); });
  }
  // All of them at once; if one is unavailable, each by itself, so that a thousand requests do not
  // need a thousand lucky answers in one attempt.
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    auto results = base().ReadMany(requests, stop);
    if (!absl::IsUnavailable(results.status()) || stop.stop_requested()) return results;
    return KvStore::ReadMany(requests, std::move(stop));
  }
  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    if (if_generation.has_value()) return base().Write(key, value, if_generation, stop);
    return Repeat(stop, [&] { return base().Write(key, value, if_generation, stop); });
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    if (if_generation.has_value()) return base().Delete(key, if_generation, stop);
    return Repeat(stop, [&] { return base().Delete(key, if_generation, stop); });
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    return Repeat(stop, [&] { return base().DeletePrefix(prefix, stop); });
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    return Repeat(stop, [&] { return base().MovePrefix(from, to, stop); });
  }
  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    return Repeat(stop, [&] { return base().List(prefix, stop); });
  }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    return Repeat(stop, [&] { return base().Reserve(key, size, stop); });
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    return Repeat(stop, [&] { return base().WriteAt(key, offset, data, stop); });
  }
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    return Repeat(stop, [&] { return base().Map(key, stop); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Repeat(const std::stop_token& stop, Call call) {
    std::chrono::milliseconds delay = options_.first_delay;
    for (int attempt = 1;; ++attempt) {
      auto result = call();
      const bool again = absl::IsUnavailable(status_internal::AsStatus(result)) &&
                         attempt < options_.most_attempts && !stop.stop_requested();
      if (!again) return result;
      SleepFor(delay, stop);
      delay = std::min(delay * 2, options_.longest_delay);
    }
  }

  const RetryOptions options_;
};

class CountingStore final : public ForwardingStore {
 public:
  CountingStore(KvStore& base, StoreCounts& counts) : ForwardingStore(base), counts_(counts) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    auto result = base().Read(key, range, std::move(stop));
    ++counts_.reads;
    if (result.ok()) CountBytes(*result);
    return result;
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    auto result = base().ReadInto(key, offset, target, std::move(stop));
    ++counts_.reads;
    if (result.ok() && !result->missing()) {
      counts_.bytes_read += static_cast<int64_t>(target.size());
    }
    return result;
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    auto result = base().ReadAll(key, target, std::move(stop));
    ++counts_.reads;
    if (result.ok()) counts_.bytes_read += static_cast<int64_t>(result->size);
    return result;
  }
  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    ++counts_.reads;
    return base().ReadPieces(
        key, range, room,
        [&](std::span<const std::byte> piece) {
          counts_.bytes_read += static_cast<int64_t>(piece.size());
          return sink(piece);
        },
        std::move(stop));
  }
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    auto results = base().ReadMany(requests, std::move(stop));
    counts_.reads += static_cast<int64_t>(requests.size());
    if (!results.ok()) return results;
    for (const ReadResult& result : *results) CountBytes(result);
    return results;
  }
  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    auto result = base().Write(key, value, if_generation, std::move(stop));
    ++counts_.writes;
    if (result.ok()) counts_.bytes_written += static_cast<int64_t>(value.size());
    return result;
  }
  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer producer,
                                        const std::optional<Generation>& if_generation,
                                        std::stop_token stop) override {
    auto result = base().WritePieces(key, producer, if_generation, std::move(stop));
    ++counts_.writes;
    if (result.ok()) counts_.bytes_written += static_cast<int64_t>(result->size);
    return result;
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    ++counts_.deletes;
    return base().Delete(key, if_generation, std::move(stop));
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    ++counts_.deletes;
    return base().DeletePrefix(prefix, std::move(stop));
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    ++counts_.moves;
    return base().MovePrefix(from, to, std::move(stop));
  }
  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    ++counts_.lists;
    return base().List(prefix, std::move(stop));
  }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    ++counts_.writes;
    return base().Reserve(key, size, std::move(stop));
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    ++counts_.writes;
    TESSERA_RETURN_IF_ERROR(base().WriteAt(key, offset, data, std::move(stop)));
    counts_.bytes_written += static_cast<int64_t>(data.size());
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    ++counts_.reads;
    return base().Map(key, std::move(stop));
  }
  bool streams() const override { return base().streams(); }

 private:
  void CountBytes(const ReadResult& result) {
    if (result.value.has_value()) {
      counts_.bytes_read += static_cast<int64_t>(result.value->size());
    }
  }

  StoreCounts& counts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KvStore>> MakePrefixStore(KvStore& base, std::string prefix) {
  TESSERA_RETURN_IF_ERROR(ValidateKey(prefix));
  return std::make_unique<PrefixStore>(base, std::move(prefix));
}

std::unique_ptr<KvStore> MakeRetryStore(KvStore& base, const RetryOptions& options) {
  return std::make_unique<RetryStore>(base, options);
}

std::unique_ptr<KvStore> MakeCountingStore(KvStore& base, StoreCounts& counts) {
  return std::make_unique<CountingStore>(base, counts);
}

}  // namespace tessera::store
