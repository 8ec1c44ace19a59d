#include "tessera/comm/testing/memory_key_values.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::comm::testing {
namespace {

class MemoryClient final : public KeyValueClient {
 public:
  explicit MemoryClient(MemoryKeyValues& values) : values_(values) {}

  absl::Status Set(std::string_view key, std::span<const std::byte> value) override {
    return values_.Set(key, value);
  }
  absl::StatusOr<std::optional<Bytes>> Get(std::string_view key,
                                           std::chrono::milliseconds timeout) override {
    return values_.Get(key, timeout);
  }
  absl::StatusOr<std::vector<KeyValue>> List(std::string_view folder) override {
    return values_.List(folder);
  }
  absl::Status Delete(std::string_view key) override { return values_.Delete(key); }

 private:
  MemoryKeyValues& values_;
};

}  // namespace

std::shared_ptr<KeyValueClient> MemoryKeyValues::MakeClient() {
  return std::make_shared<MemoryClient>(*this);
}

absl::Status MemoryKeyValues::Set(std::string_view key, std::span<const std::byte> value) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  const auto [place, is_new] = values_.emplace(key, Bytes::CopyOf(value));
  if (!is_new) return absl::AlreadyExistsError(Concat("key ", key, " is there"));
  bytes_ += value.size();
  largest_ = std::max(largest_, value.size());
  most_ = std::max(most_, bytes_);
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Bytes>> MemoryKeyValues::Get(std::string_view key,
                                                          std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  for (bool in_time = true; failure_.ok();) {
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    if (!in_time) return std::nullopt;
    in_time = changed_.WaitUntil(mutex_, deadline);
  }
  return failure_;
}

absl::StatusOr<std::vector<KeyValue>> MemoryKeyValues::List(std::string_view folder) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  std::vector<KeyValue> found;
  for (auto at = values_.lower_bound(folder); at != values_.end(); ++at) {
    if (!at->first.starts_with(folder)) break;
    found.push_back({at->first, at->second});
  }
  return found;
}

absl::Status MemoryKeyValues::Delete(std::string_view key) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return failure_;
  const std::string folder = Concat(key, "/");
  std::erase_if(values_, [&](const auto& entry) {
    const bool goes = entry.first == key || entry.first.starts_with(folder);
    if (goes) bytes_ -= entry.second.size();
    return goes;
  });
  return absl::OkStatus();
}

void MemoryKeyValues::Fail(const absl::Status& why) {
  MutexLock lock(mutex_);
  failure_ = why;
  changed_.NotifyAll();
}

std::vector<std::string> MemoryKeyValues::Keys() {
  MutexLock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

size_t MemoryKeyValues::largest() {
  MutexLock lock(mutex_);
  return largest_;
}

size_t MemoryKeyValues::most() {
  MutexLock lock(mutex_);
  return most_;
}

}  // namespace tessera::comm::testing
