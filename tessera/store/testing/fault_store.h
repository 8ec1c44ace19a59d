// A store that fails at a chosen call, for tests of what then happens.
#ifndef TESSERA_STORE_TESTING_FAULT_STORE_H_
#define TESSERA_STORE_TESTING_FAULT_STORE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/store/forwarding_store.h"

namespace tessera::store::testing {

// What happens at the chosen call.
enum class Fault {
  kFail,    // Unavailable, and nothing is done
  kDelay,   // done after `delay`
  kTear,    // a write stores the first half of its value or part, a value of half the size is
            // reserved, a move moves the first half of the keys, and an error is reported; others
            // fail
  kForget,  // a write, delete, move or flush reports success, and nothing is done; others fail
};

struct FaultPlan {
  Fault fault = Fault::kFail;
  int64_t at_call = 0;  // from 0; every call of any kind counts
  int64_t calls = 1;    // how many calls in a row are struck
  std::chrono::milliseconds delay{0};
};

class FaultStore final : public ForwardingStore {
 public:
  FaultStore(KvStore& base, FaultPlan plan) : ForwardingStore(base), plan_(plan) {}

  int64_t calls() const { return next_call_; }

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    if (Strikes()) return Fails("read", key);
    return base().Read(key, range, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    if (Strikes()) return Fails("read", key);
    return base().ReadInto(key, offset, target, std::move(stop));
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    if (Strikes()) return Fails("read", key);
    return base().ReadAll(key, target, std::move(stop));
  }
  // Each of the requests is a call of its own, so a plan can strike any of them.
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    return KvStore::ReadMany(requests, std::move(stop));
  }
  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte> value,
                                   const std::optional<Generation>& if_generation,
                                   std::stop_token stop) override {
    if (!Strikes()) return base().Write(key, value, if_generation, std::move(stop));
    if (plan_.fault == Fault::kForget) return Generation{"forgotten"};
    if (plan_.fault == Fault::kTear) {
      TESSERA_RETURN_IF_ERROR(
          base().Write(key, value.first(value.size() / 2), if_generation, std::move(stop)));
    }
    return Fails("write", key);
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>& if_generation,
                      std::stop_token stop) override {
    if (!Strikes()) return base().Delete(key, if_generation, std::move(stop));
    return plan_.fault == Fault::kForget ? absl::OkStatus() : Fails("delete", key);
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token stop) override {
    if (!Strikes()) return base().DeletePrefix(prefix, std::move(stop));
    return plan_.fault == Fault::kForget ? absl::OkStatus() : Fails("delete", prefix);
  }
  absl::Status MovePrefix(std::string_view from, std::string_view to,
                          std::stop_token stop) override {
    if (!Strikes()) return base().MovePrefix(from, to, std::move(stop));
    if (plan_.fault == Fault::kForget) return absl::OkStatus();
    if (plan_.fault == Fault::kTear) TESSERA_RETURN_IF_ERROR(MoveHalf(from, to, stop));
    return Fails("move", from);
  }
  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    if (Strikes()) return Fails("list", prefix);
    return base().List(prefix, std::move(stop));
  }
  absl::Status Flush(std::stop_token stop) override {
    if (!Strikes()) return base().Flush(std::move(stop));
    return plan_.fault == Fault::kForget ? absl::OkStatus() : Fails("flush", "");
  }
  absl::Status Reserve(std::string_view key, uint64_t size, std::stop_token stop) override {
    if (!Strikes()) return base().Reserve(key, size, std::move(stop));
    if (plan_.fault == Fault::kForget) return absl::OkStatus();
    if (plan_.fault == Fault::kTear) {
      TESSERA_RETURN_IF_ERROR(base().Reserve(key, size / 2, std::move(stop)));
    }
    return Fails("reserve", key);
  }
  absl::Status WriteAt(std::string_view key, uint64_t offset, std::span<const std::byte> data,
                       std::stop_token stop) override {
    if (!Strikes()) return base().WriteAt(key, offset, data, std::move(stop));
    if (plan_.fault == Fault::kForget) return absl::OkStatus();
    if (plan_.fault == Fault::kTear) {
      const auto front = data.first(data.size() / 2);
      TESSERA_RETURN_IF_ERROR(base().WriteAt(key, offset, front, std::move(stop)));
    }
    return Fails("write", key);
  }
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    if (Strikes()) return Fails("map", key);
    return base().Map(key, std::move(stop));
  }

 private:
  // Counts the call; a delay is served here, and the call then goes through.
  bool Strikes() {
    const int64_t call = next_call_++;
    if (call < plan_.at_call || call - plan_.at_call >= plan_.calls) return false;
    if (plan_.fault != Fault::kDelay) return true;
    std::this_thread::sleep_for(plan_.delay);
    return false;
  }

  absl::Status MoveHalf(std::string_view from, std::string_view to, const std::stop_token& stop) {
    TESSERA_ASSIGN_OR_RETURN(std::vector<ListEntry> entries, base().List(from, stop));
    entries.resize(entries.size() / 2);
    for (const ListEntry& entry : entries) {
      TESSERA_ASSIGN_OR_RETURN(const ReadResult result, base().Read(entry.key, {}, stop));
      const std::string target = Concat(to, std::string_view(entry.key).substr(from.size()));
      TESSERA_RETURN_IF_ERROR(base().Write(target, result.value->span(), std::nullopt, stop));
      TESSERA_RETURN_IF_ERROR(base().Delete(entry.key, std::nullopt, stop));
    }
    return absl::OkStatus();
  }

  absl::Status Fails(const char* action, std::string_view key) const {
    return Unavailable(Describe(key), ": ", action, ": a fault was injected");
  }

  const FaultPlan plan_;
  std::atomic<int64_t> next_call_{0};
};

}  // namespace tessera::store::testing

#endif  // TESSERA_STORE_TESTING_FAULT_STORE_H_
