// Reads files for a store: large parts on several threads at once, many requests at once.
#ifndef TESSERA_STORE_FILE_READER_H_
#define TESSERA_STORE_FILE_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "tessera/core/thread_pool.h"
#include "tessera/store/concurrent.h"
#include "tessera/store/file_handle.h"

namespace tessera::store {

// Thread-safe.
class FileReader {
 public:
  // Parts of at least `threshold` bytes are read by up to `parallelism` threads; `requests` is how
  // many requests are under way at once.  REQUIRES: both numbers of threads are positive.
  FileReader(int parallelism, uint64_t threshold, int requests);

  // As ReadFully.  Calls that are large share the threads: while n of them run, each uses its own
  // thread and at most parallelism / n - 1 others, so with many callers each reads alone.
  absl::Status Read(const FileHandle& file, uint64_t offset, std::span<std::byte> target,
                    const std::string& shown, std::stop_token stop);

  ThreadPool& pool() { return pool_.get(); }
  int parallelism() const { return parallelism_; }
  int requests() const { return requests_; }

 private:
  const int parallelism_;
  const uint64_t threshold_;
  const int requests_;
  std::atomic<int> large_reads_{0};
  LazyThreadPool pool_;
};

}  // namespace tessera::store

#endif  // TESSERA_STORE_FILE_READER_H_
