// A store that loses what was not flushed, as a disk does when the power fails.
#ifndef TESSERA_STORE_TESTING_VOLATILE_STORE_H_
#define TESSERA_STORE_TESTING_VOLATILE_STORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/store/forwarding_store.h"

namespace tessera::store::testing {

struct VolatileOptions {
  // A write that was not flushed may leave its key with the front of its value only.
  bool torn = false;
};

// What goes through is in the store below at once, for all readers.  Crash() then makes of the
// store below what a power cut might leave.  All writers must use this one; values are kept in
// memory, so it is for small ones.
class VolatileStore final : public ForwardingStore {
 public:
  // What is in `base` now is durable.
  VolatileStore(KvStore& base, VolatileOptions options) : ForwardingStore(base), options_(options) {
    const absl::StatusOr<Values> values = AllValues();
    TESSERA_CHECK(values.ok());
    MutexLock lock(mutex_);
    durable_ = *values;
  }

  // Leaves everything up to the last Flush, and of the later writes, deletes and moves of single
  // keys a choice that `seed` makes, in the order in which they were made; 0: none.
  absl::Status Crash(uint64_t seed) {
    MutexLock lock(mutex_);
    std::mt19937_64 random(seed);
    std::set<std::string> lost;  // keys whose value is not the one that was written into
    for (const Operation& operation : pending_) {
      const bool kept = seed != 0 && random() % 2 == 0;
      if (operation.kind == Kind::kWrite && kept) lost.erase(operation.key);
      if (operation.kind == Kind::kWrite && !kept) lost.insert(operation.key);
      const bool applies = operation.kind != Kind::kWriteAt || !lost.contains(operation.key);
      if (kept && applies) Apply(operation, Cut(operation, random));
    }
    pending_.clear();
    return Restore();
  }

  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_ASSIGN_OR_RETURN(Generation generation,
                             base().Write(key, value, if_generation, std::move(stop)));
    pending_.push_back({Kind::kWrite, std::string(key), "", Bytes::CopyOf(value)});
    return generation;
  }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(base().Reserve(key, size, std::move(stop)));
    Bytes zeros = Bytes::Take(std::vector<std::byte>(size));
    pending_.push_back({Kind::kWrite, std::string(key), "", std::move(zeros)});
    return absl::OkStatus();
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(base().WriteAt(key, offset, data, std::move(stop)));
    pending_.push_back({Kind::kWriteAt, std::string(key), "", Bytes::CopyOf(data), offset});
    return absl::OkStatus();
  }
  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer producer,
                                        const std::optional<Generation>& if_generation,
                                        std::stop_token stop) override {
    return KvStore::WritePieces(key, producer, if_generation, std::move(stop));
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(base().Delete(key, if_generation, std::move(stop)));
    pending_.push_back({Kind::kDelete, std::string(key), "", {}});
    return absl::OkStatus();
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_ASSIGN_OR_RETURN(const auto entries, base().List(prefix, stop));
    TESSERA_RETURN_IF_ERROR(base().DeletePrefix(prefix, std::move(stop)));
    for (const ListEntry& entry : entries) pending_.push_back({Kind::kDelete, entry.key, "", {}});
    return absl::OkStatus();
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_ASSIGN_OR_RETURN(const auto entries, base().List(from, stop));
    TESSERA_RETURN_IF_ERROR(base().MovePrefix(from, to, std::move(stop)));
    for (const ListEntry& entry : entries) {
      const std::string_view rest = std::string_view(entry.key).substr(from.size());
      pending_.push_back({Kind::kMove, entry.key, Concat(to, rest), {}});
    }
    return absl::OkStatus();
  }
  absl::Status Flush(std::stop_token stop) override {
    MutexLock lock(mutex_);
    TESSERA_RETURN_IF_ERROR(base().Flush(std::move(stop)));
    for (const Operation& operation : pending_) Apply(operation, operation.value);
    pending_.clear();
    return absl::OkStatus();
  }

 private:
  using Values = std::map<std::string, Bytes, std::less<>>;
  enum class Kind { kWrite, kWriteAt, kDelete, kMove };
  struct Operation {
    Kind kind;
    std::string key;
    std::string to;
    Bytes value;
    uint64_t offset = 0;
  };

  Bytes Cut(const Operation& operation, std::mt19937_64& random) const {
    if (!options_.torn || operation.value.empty() || random() % 2 == 0) return operation.value;
    return operation.value.Slice(0, random() % operation.value.size());
  }

  void Apply(const Operation& operation, const Bytes& value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (operation.kind == Kind::kWrite) {
      durable_.insert_or_assign(operation.key, value);
      return;
    }
    if (operation.kind == Kind::kWriteAt) return Patch(operation, value);
    auto node = durable_.extract(operation.key);
    if (operation.kind == Kind::kDelete || node.empty()) return;
    durable_.insert_or_assign(operation.to, std::move(node.mapped()));
  }

  // A value that was cut short grows again, as a file does.
  void Patch(const Operation& operation, const Bytes& data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = durable_.find(operation.key);
    if (found == durable_.end()) return;
    const std::span<const std::byte> old = found->second.span();
    std::vector<std::byte> value(old.begin(), old.end());
    value.resize(std::max<size_t>(value.size(), operation.offset + data.size()));
    std::copy(data.span().begin(), data.span().end(),
              value.begin() + static_cast<ptrdiff_t>(operation.offset));
    found->second = Bytes::Take(std::move(value));
  }

  // Makes the store below hold what is durable, touching nothing that is as it should be.
  absl::Status Restore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TESSERA_ASSIGN_OR_RETURN(const Values now, AllValues());
    for (const auto& [key, value] : now) {
      if (!durable_.contains(key)) TESSERA_RETURN_IF_ERROR(base().Delete(key));
    }
    for (const auto& [key, value] : durable_) {
      const auto found = now.find(key);
      if (found != now.end() && found->second == value) continue;
      TESSERA_RETURN_IF_ERROR(base().Write(key, value.span()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Values> AllValues() {
    TESSERA_ASSIGN_OR_RETURN(const auto entries, base().List(""));
    Values values;
    for (const ListEntry& entry : entries) {
      TESSERA_ASSIGN_OR_RETURN(const ReadResult result, base().Read(entry.key));
      if (result.value.has_value()) values.emplace(entry.key, *result.value);
    }
    return values;
  }

  const VolatileOptions options_;
  Mutex mutex_;
  Values durable_ ABSL_GUARDED_BY(mutex_);
  std::vector<Operation> pending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::store::testing

#endif  // TESSERA_STORE_TESTING_VOLATILE_STORE_H_
