// IoContext: what a program lends to everything that reads and writes: threads, memory, cores.
#ifndef TESSERA_CORE_IO_CONTEXT_H_
#define TESSERA_CORE_IO_CONTEXT_H_

#include <algorithm>
#include <cstdint>

#include "tessera/core/byte_budget.h"
#include "tessera/core/semaphore.h"
#include "tessera/core/thread_pool.h"

namespace tessera {

struct IoOptions {
  // Requests at once.  A request blocks a thread, so there are more than cores: some wait for a
  // disk while the others compute.  Stores far away want many.
  int in_flight = 2 * DefaultThreadCount();
  // Of those, how many may compute at the same time.  More than cores unless a number was asked
  // for: the system sees who waits for a page, a folder or a drive and gives the core to another,
  // where a turn per core leaves cores idle (docs/performance.md).
  int compute = WantedThreadCount().value_or(2 * DefaultThreadCount());
  // What all of them together may hold beside their destinations.
  int64_t budget_bytes = int64_t{1} << 30;
};

// For a store with 50 ms between request and answer.
inline IoOptions FarStoreOptions() { return {.in_flight = 64}; }

// Thread-safe.  Made once, by who starts the work, and outlives it.
class IoContext {
 public:
  explicit IoContext(const IoOptions& options = {})
      : pool_(std::max(1, options.in_flight)),
        budget_(options.budget_bytes),
        compute_(std::max(1, options.compute)) {}

  ThreadPool& pool() { return pool_; }
  ByteBudget& budget() { return budget_; }

  // One of the `compute` turns, held while it lives.  Whoever has one computes or copies, and waits
  // for nobody.
  class ComputeSlot {
   public:
    explicit ComputeSlot(IoContext& context) : context_(context) { context_.compute_.Acquire(); }
    ~ComputeSlot() { context_.compute_.Release(); }
    ComputeSlot(const ComputeSlot&) = delete;
    ComputeSlot& operator=(const ComputeSlot&) = delete;

   private:
    IoContext& context_;
  };

 private:
  ThreadPool pool_;
  ByteBudget budget_;
  Semaphore compute_;
};

}  // namespace tessera

#endif  // TESSERA_CORE_IO_CONTEXT_H_
