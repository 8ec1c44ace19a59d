// Spares: things that threads work with, each by one thread at a time, and that outlive its work.
#ifndef TESSERA_INSPECT_SPARES_H_
#define TESSERA_INSPECT_SPARES_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/core/mutex.h"

namespace tessera::inspect {

// Thread-safe.  There are never more things than threads that had one at the same time.
template <typename Thing>
class Spares {
 public:
  explicit Spares(std::function<std::unique_ptr<Thing>()> make) : make_(std::move(make)) {}

  // Lent while it lives.
  class Loan {
   public:
    explicit Loan(Spares& spares) : spares_(spares), thing_(spares.Take()) {}
    ~Loan() { spares_.GiveBack(std::move(thing_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Thing& operator*() { return *thing_; }
    Thing* operator->() { return thing_.get(); }

   private:
    Spares& spares_;
    std::unique_ptr<Thing> thing_;
  };

  // All of them.  REQUIRES: none is lent.
  std::vector<std::unique_ptr<Thing>> TakeAll() {
    MutexLock lock(mutex_);
    return std::exchange(free_, {});
  }

 private:
  std::unique_ptr<Thing> Take() {
    {
      MutexLock lock(mutex_);
      if (!free_.empty()) {
        auto thing = std::move(free_.back());
        free_.pop_back();
        return thing;
      }
    }
    return make_();
  }
  void GiveBack(std::unique_ptr<Thing> thing) {
    MutexLock lock(mutex_);
    free_.push_back(std::move(thing));
  }

  const std::function<std::unique_ptr<Thing>()> make_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Thing>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_SPARES_H_
