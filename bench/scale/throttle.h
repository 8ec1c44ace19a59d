// A far store and a network, made of near ones by waiting.
#ifndef TESSERA_BENCH_SCALE_THROTTLE_H_
#define TESSERA_BENCH_SCALE_THROTTLE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/comm/comm.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/store/forwarding_store.h"

namespace tessera::bench {

using Clock = std::chrono::steady_clock;

inline Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Bytes pass one after the other, so many a second.  Thread-safe.
class Link {
 public:
  // 0: without limit.
  explicit Link(double bytes_per_second) : rate_(bytes_per_second) {}

  // When bytes that are ready at `from` will have passed.  The times are those of a perfect clock,
  // so that a thread that wakes up late loses nothing of the bandwidth.
  Clock::time_point Pass(uint64_t bytes, Clock::time_point from) {
    if (rate_ <= 0) return from;
    MutexLock lock(mutex_);
    free_ = std::max(free_, from) + Seconds(static_cast<double>(bytes) / rate_);
    return free_;
  }

 private:
  const double rate_;
  Mutex mutex_;
  Clock::time_point free_ ABSL_GUARDED_BY(mutex_);
};

struct StoreSpeed {
  double latency = 0;  // seconds
  double jitter = 0;   // latencies are spread evenly over latency * (1 ± jitter)
};

// Every request waits for the latency, then for its bytes to pass the host's link and the store's.
class ThrottledStore final : public store::ForwardingStore {
 public:
  ThrottledStore(store::KvStore& base, const StoreSpeed& speed, Link& host, Link& total)
      : ForwardingStore(base), speed_(speed), host_(host), total_(total) {}

  int64_t requests() const { return requests_; }

  absl::StatusOr<store::ReadResult> Read(std::string_view key, const store::ByteRange& range,
                                         std::stop_token stop) override {
    const auto answered = Answer();
    auto result = base().Read(key, range, std::move(stop));
    if (result.ok() && result->value.has_value()) Transfer(result->value->size(), answered);
    return result;
  }
  absl::StatusOr<store::ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                            std::span<std::byte> target,
                                            std::stop_token stop) override {
    const auto answered = Answer();
    auto info = base().ReadInto(key, offset, target, std::move(stop));
    if (info.ok() && !info->missing()) Transfer(target.size(), answered);
    return info;
  }
  absl::StatusOr<store::ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                           std::stop_token stop) override {
    const auto answered = Answer();
    auto info = base().ReadAll(key, target, std::move(stop));
    if (info.ok()) Transfer(info->size, answered);
    return info;
  }
  // Each is a request of its own.
  absl::StatusOr<std::vector<store::ReadResult>> ReadMany(
      std::span<const store::ReadRequest> requests, std::stop_token stop) override {
    return KvStore::ReadMany(requests, std::move(stop));
  }
  absl::StatusOr<std::vector<store::ListEntry>> List(std::string_view prefix,
                                                     std::stop_token stop) override {
    Answer();
    return base().List(prefix, std::move(stop));
  }
  // Would go past the link.
  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    return KvStore::Map(key, std::move(stop));
  }

 private:
  // Requests share a link by taking turns with pieces of this size.
  static constexpr uint64_t kPiece = uint64_t{128} << 10;

  // Waits for the answer to begin.
  Clock::time_point Answer() {
    const auto asked = Clock::now();
    // Any sequence that looks like chance: a multiplicative hash of the request's number.
    const uint64_t mixed = static_cast<uint64_t>(++requests_) * 0x9E3779B97F4A7C15ULL;
    const double place = static_cast<double>(mixed >> 11) / static_cast<double>(1ULL << 53);
    const auto answered = asked + Seconds(speed_.latency * (1 + speed_.jitter * (2 * place - 1)));
    std::this_thread::sleep_until(answered);
    return answered;
  }

  void Transfer(uint64_t bytes, Clock::time_point at) {
    for (uint64_t done = 0; done < bytes; done += kPiece) {
      const uint64_t piece = std::min(kPiece, bytes - done);
      at = std::max(host_.Pass(piece, at), total_.Pass(piece, at));
      std::this_thread::sleep_until(at);
    }
  }

  const StoreSpeed speed_;
  Link& host_;
  Link& total_;
  std::atomic<int64_t> requests_ = 0;
};

struct NetSpeed {
  double bytes_per_second = 0;  // of a rank, in and out; 0: without limit
  double latency = 0;           // of each step, in seconds
};

// Ranks that are connected as those of another Comm are, only slower.
class ThrottledEngine final : public comm::Engine {
 public:
  ThrottledEngine(comm::Comm& base, const NetSpeed& speed) : base_(base), speed_(speed) {}

  int rank() const override { return base_.rank(); }
  int size() const override { return base_.size(); }

  absl::StatusOr<std::vector<comm::Mark>> Meet(const comm::Call& call,
                                               const comm::Mark& mine) override {
    std::this_thread::sleep_for(Seconds(speed_.latency));
    const auto* bytes = reinterpret_cast<const std::byte*>(&mine);
    TESSERA_ASSIGN_OR_RETURN(const auto all,
                             base_.AllGather(Bytes::CopyOf({bytes, sizeof(mine)}), LimitOf(call)));
    std::vector<comm::Mark> marks(all.size());
    for (size_t i = 0; i < all.size(); ++i) std::memcpy(&marks[i], all[i].data(), sizeof(mine));
    return marks;
  }

  absl::StatusOr<std::vector<int64_t>> Swap(const comm::Call& call,
                                            std::vector<int64_t> values) override {
    std::this_thread::sleep_for(Seconds(speed_.latency));
    std::vector<Bytes> out;
    for (const int64_t value : values) {
      out.push_back(Bytes::CopyOf(std::as_bytes(std::span(&value, 1))));
    }
    TESSERA_ASSIGN_OR_RETURN(const auto in, base_.AllToAll(std::move(out), LimitOf(call)));
    for (size_t i = 0; i < in.size(); ++i) std::memcpy(&values[i], in[i].data(), sizeof(int64_t));
    return values;
  }

  absl::Status Move(const comm::Call& call, std::span<const comm::Send> sends,
                    std::span<const comm::Receive> receives) override {
    const auto start = Clock::now();
    size_t out = 0;
    size_t in = 0;
    for (const comm::Send& send : sends) out += send.bytes.size();
    for (const comm::Receive& receive : receives) in += receive.bytes.size();
    TESSERA_RETURN_IF_ERROR(base_.Exchange(sends, receives, LimitOf(call)));
    Wait(start, std::max(out, in));
    return absl::OkStatus();
  }

  absl::Status Spread(const comm::Call& call, int root, std::span<const std::byte> out,
                      std::span<std::byte> in) override {
    const auto start = Clock::now();
    TESSERA_ASSIGN_OR_RETURN(const Bytes value,
                             base_.Broadcast(Bytes::CopyOf(out), root, LimitOf(call)));
    if (rank() != root) std::memcpy(in.data(), value.data(), in.size());
    Wait(start, value.size());
    return absl::OkStatus();
  }

  void Abort(int64_t, const absl::Status& why) override { base_.Abort(why); }

 private:
  static comm::Limit LimitOf(const comm::Call& call) { return {call.timeout, call.stop}; }

  void Wait(Clock::time_point start, size_t bytes) const {
    const double rate = speed_.bytes_per_second;
    const double seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0;
    std::this_thread::sleep_until(start + Seconds(speed_.latency + seconds));
  }

  comm::Comm& base_;
  const NetSpeed speed_;
};

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_SCALE_THROTTLE_H_
