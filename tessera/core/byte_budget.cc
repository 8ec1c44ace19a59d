#include "tessera/core/byte_budget.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera {

ByteBudget::Reservation& ByteBudget::Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  Release();
  budget_ = std::exchange(other.budget_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void ByteBudget::Reservation::Release() {
  if (budget_ != nullptr) budget_->GiveBack(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

absl::StatusOr<ByteBudget::Reservation> ByteBudget::Acquire(int64_t bytes, std::stop_token stop) {
  TESSERA_CHECK(bytes >= 0);
  if (bytes > limit_) {
    return ResourceExhausted("a request for ", bytes, " bytes cannot fit the budget of ", limit_);
  }
  // The lock makes the wake-up wait until this thread sleeps or has seen the request.
  std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  MutexLock lock(mutex_);
  const auto ticket = waiting_.insert(waiting_.end(), bytes);
  while (!stop.stop_requested() && (ticket != waiting_.begin() || bytes > limit_ - in_use_)) {
    changed_.Wait(mutex_);
  }
  waiting_.erase(ticket);
  changed_.NotifyAll();  // the next in line may fit, too
  if (stop.stop_requested()) return Cancelled("stopped while waiting for ", bytes, " bytes");
  Take(bytes);
  return Reservation(this, bytes);
}

std::optional<ByteBudget::Reservation> ByteBudget::TryAcquire(int64_t bytes) {
  TESSERA_CHECK(bytes >= 0);
  MutexLock lock(mutex_);
  if (!waiting_.empty() || bytes > limit_ - in_use_) return std::nullopt;
  Take(bytes);
  return Reservation(this, bytes);
}

int64_t ByteBudget::in_use() const {
  MutexLock lock(mutex_);
  return in_use_;
}

int64_t ByteBudget::peak() const {
  MutexLock lock(mutex_);
  return peak_;
}

void ByteBudget::Take(int64_t bytes) {
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
}

void ByteBudget::GiveBack(int64_t bytes) {
  MutexLock lock(mutex_);
  in_use_ -= bytes;
  changed_.NotifyAll();
}

}  // namespace tessera
