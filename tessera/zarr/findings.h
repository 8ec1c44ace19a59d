// What a read finds, gathered from all of its workers.
#ifndef TESSERA_ZARR_FINDINGS_H_
#define TESSERA_ZARR_FINDINGS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/mutex.h"
#include "tessera/zarr/array.h"
#include "tessera/zarr/wanted.h"

namespace tessera::zarr {

// Thread-safe.
class Findings {
 public:
  void Chunk() { ++chunks_; }
  void Bytes(uint64_t bytes) { bytes_read_ += static_cast<int64_t>(bytes); }
  void Absent(const std::string& key, const Wanted& wanted) {
    MutexLock lock(mutex_);
    if (absent_chunks_++ < ReadReport::kMostAbsentListed) {
      absent_.push_back({key, ArrayBox(wanted)});
    }
  }

  ReadReport Report() && {
    MutexLock lock(mutex_);
    std::sort(absent_.begin(), absent_.end(), [](const AbsentChunk& a, const AbsentChunk& b) {
      return a.box.origin() < b.box.origin();
    });
    return {chunks_, absent_chunks_, bytes_read_, std::move(absent_)};
  }

 private:
  std::atomic<int64_t> chunks_{0};
  std::atomic<int64_t> bytes_read_{0};
  Mutex mutex_;
  int64_t absent_chunks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<AbsentChunk> absent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_FINDINGS_H_
