#include "tessera/store/file_reader.h"

#include <algorithm>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::store {
namespace {

// What a thread takes at a time.  From 256 KiB to 16 MiB the speed was the same; small blocks let
// the threads end together.
constexpr size_t kBlock = size_t{1} << 20;

// Counts itself while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), now_(++count) {}
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  int now() const { return now_; }

 private:
  std::atomic<int>& count_;
  const int now_;
};

}  // namespace

FileReader::FileReader(int parallelism, uint64_t threshold, int requests)
    : parallelism_(parallelism),
      threshold_(threshold),
      requests_(requests),
      pool_(std::max(parallelism, requests)) {
  TESSERA_CHECK(parallelism > 0 && requests > 0);
}

absl::Status FileReader::Read(const FileHandle& file, uint64_t offset, std::span<std::byte> target,
                              const std::string& shown, std::stop_token stop) {
  if (parallelism_ == 1 || target.size() < threshold_ || target.size() <= kBlock) {
    return ReadFully(file, offset, target, shown);
  }
  const Counted large(large_reads_);
  const int width = parallelism_ / large.now();
  if (width <= 1) return ReadFully(file, offset, target, shown);
  const size_t blocks = (target.size() - 1) / kBlock + 1;
  return ForEachIndex(
      pool(), width, blocks, shown, std::move(stop), [&](size_t i, const std::stop_token&) {
        const size_t begin = i * kBlock;
        const size_t length = std::min(kBlock, target.size() - begin);
        return ReadFully(file, offset + begin, target.subspan(begin, length), shown);
      });
}

}  // namespace tessera::store
