// ByteBudget: a bound on the bytes that are in flight at once.
#ifndef TESSERA_CORE_BYTE_BUDGET_H_
#define TESSERA_CORE_BYTE_BUDGET_H_

#include <cstdint>
#include <list>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/core/mutex.h"

namespace tessera {

// Thread-safe.  Requests are served in the order they came, so that a large one is not starved by
// small ones.
class ByteBudget {
 public:
  // Bytes taken from a budget; given back when destroyed.  The budget must outlive it.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept { *this = std::move(other); }
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation() { Release(); }

    int64_t bytes() const { return bytes_; }
    void Release();

   private:
    friend class ByteBudget;
    Reservation(ByteBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}

    ByteBudget* budget_ = nullptr;
    int64_t bytes_ = 0;
  };

  explicit ByteBudget(int64_t limit) : limit_(limit) {}

  // Waits until `bytes` are free and takes them.  ResourceExhausted when they are more than the
  // whole budget, Cancelled when `stop` is requested first.  REQUIRES: bytes >= 0.
  absl::StatusOr<Reservation> Acquire(int64_t bytes, std::stop_token stop = {});

  // Takes `bytes` if they are free and nobody waits; nullopt otherwise.
  std::optional<Reservation> TryAcquire(int64_t bytes);

  int64_t limit() const { return limit_; }
  int64_t in_use() const;

  // The most that was ever in use; at most limit().
  int64_t peak() const;

 private:
  void Take(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(int64_t bytes);

  const int64_t limit_;
  mutable Mutex mutex_;
  CondVar changed_;
  int64_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t peak_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<int64_t> waiting_ ABSL_GUARDED_BY(mutex_);  // in order of arrival
};

}  // namespace tessera

#endif  // TESSERA_CORE_BYTE_BUDGET_H_
