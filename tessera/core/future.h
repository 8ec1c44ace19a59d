// Future and Promise: one result, made in one place and awaited in others.
#ifndef TESSERA_CORE_FUTURE_H_
#define TESSERA_CORE_FUTURE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"

namespace tessera {

// What a Future<T> holds in the end: StatusOr<T>, or Status for Future<void>.
template <typename T>
using FutureResult = std::conditional_t<std::is_void_v<T>, absl::Status, absl::StatusOr<T>>;

namespace future_internal {

template <typename T>
class State {
 public:
  using Callback = std::function<void(const FutureResult<T>&)>;

  void Set(FutureResult<T> result) {
    std::vector<Callback> callbacks;
    {
      MutexLock lock(mutex_);
      TESSERA_CHECK(!result_.has_value());
      result_.emplace(std::move(result));
      callbacks.swap(callbacks_);
      changed_.NotifyAll();
    }
    for (const Callback& callback : callbacks) callback(*result_);
  }

  bool ready() const {
    MutexLock lock(mutex_);
    return result_.has_value();
  }

  // The result never changes once set, so a reference may leave the lock.
  const FutureResult<T>& Wait() const {
    MutexLock lock(mutex_);
    while (!result_.has_value()) changed_.Wait(mutex_);
    return *result_;
  }

  bool WaitUntil(std::chrono::steady_clock::time_point deadline) const {
    MutexLock lock(mutex_);
    while (!result_.has_value()) {
      if (!changed_.WaitUntil(mutex_, deadline)) return result_.has_value();
    }
    return true;
  }

  void OnReady(Callback callback) {
    {
      MutexLock lock(mutex_);
      if (!result_.has_value()) {
        callbacks_.push_back(std::move(callback));
        return;
      }
    }
    callback(*result_);
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::optional<FutureResult<T>> result_;  // written once under mutex_
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace future_internal

// A handle on a result to come.  Copies share it.  Thread-safe.
template <typename T>
class Future {
 public:
  bool ready() const { return state_->ready(); }

  // Blocks until the result is there.  The reference lives as long as any handle.
  const FutureResult<T>& Wait() const { return state_->Wait(); }

  // False when the result is not there after `timeout`.
  bool WaitFor(std::chrono::nanoseconds timeout) const {
    return state_->WaitUntil(std::chrono::steady_clock::now() + timeout);
  }

  // Calls `callback` once, with the result: now if it is there, else on the thread that sets it.
  void OnReady(std::function<void(const FutureResult<T>&)> callback) const {
    state_->OnReady(std::move(callback));
  }

 private:
  template <typename>
  friend class Promise;
  explicit Future(std::shared_ptr<future_internal::State<T>> state) : state_(std::move(state)) {}

  std::shared_ptr<future_internal::State<T>> state_;
};

// The other end.  One holder; dropping it unset cancels the future.
template <typename T>
class Promise {
 public:
  Promise() : state_(std::make_shared<future_internal::State<T>>()) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Promise() {
    if (state_ != nullptr) state_->Set(Cancelled("the work was dropped before it had a result"));
  }

  // REQUIRES: Set was not called yet.
  Future<T> future() const {
    TESSERA_CHECK(state_ != nullptr);
    return Future<T>(state_);
  }

  // REQUIRES: called once.
  void Set(FutureResult<T> result) {
    TESSERA_CHECK(state_ != nullptr);
    std::exchange(state_, nullptr)->Set(std::move(result));
  }

 private:
  std::shared_ptr<future_internal::State<T>> state_;
};

}  // namespace tessera

#endif  // TESSERA_CORE_FUTURE_H_
