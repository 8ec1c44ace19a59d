#include "tessera/inspect/hash_arrays.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "tessera/checkpoint/content_hash.h"
#include "tessera/comm/byte_shares.h"
#include "tessera/core/hash128.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/task_group.h"

namespace tessera::inspect {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

// Fewer bytes at once would make too many calls of a large array, and more no fewer worth having.
constexpr int64_t kGoodRoomBytes = int64_t{16} << 20;
constexpr size_t kDigits = 64;

int64_t BytesOfArray(const CheckpointArray& array) {
  return NumBytes(array.dtype(), array.shape()).value_or(0);
}

// Which arrays each rank hashes, the largest first.
std::vector<std::vector<size_t>> DealArrays(std::span<const CheckpointArray* const> arrays,
                                            int ranks) {
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return BytesOfArray(*arrays[a]) > BytesOfArray(*arrays[b]);
  });
  comm::ByteShares shares(ranks);
  std::vector<std::vector<size_t>> dealt(static_cast<size_t>(ranks));
  for (const size_t i : order) {
    dealt[static_cast<size_t>(shares.Deal(BytesOfArray(*arrays[i])))].push_back(i);
  }
  return dealt;
}

// The arrays of one rank.
class ShareHasher {
 public:
  ShareHasher(const Checkpoint& checkpoint, std::span<const CheckpointArray* const> arrays,
              const std::vector<size_t>& mine, IoContext& io, const HashListener& progress)
      : checkpoint_(checkpoint),
        arrays_(arrays),
        mine_(mine),
        io_(io),
        // Beside the budget, as much as hashing one array takes.
        rooms_(std::max<int64_t>(1, io.budget().limit() / 4)),
        progress_(progress),
        hashes_(mine.size()) {
    now_.arrays_total = static_cast<int64_t>(mine.size());
    for (const size_t i : mine) now_.bytes_total += BytesOfArray(*arrays[i]);
  }

  absl::StatusOr<std::vector<std::string>> Run(std::stop_token stop) {
    TaskGroup group(io_.pool(), std::move(stop));
    const auto workers = std::min(static_cast<size_t>(io_.pool().size()), mine_.size());
    for (size_t i = 0; i < workers; ++i) {
      group.Run([this](const std::stop_token& stopped) { return RunWorker(stopped); });
    }
    TESSERA_RETURN_IF_ERROR(group.Join());
    return std::move(hashes_);
  }

 private:
  absl::Status RunWorker(const std::stop_token& stop) {
    for (size_t i = next_++; i < mine_.size(); i = next_++) {
      if (stop.stop_requested()) return Cancelled("stopped with arrays left to hash");
      TESSERA_RETURN_IF_ERROR(Hash(i, stop));
    }
    return absl::OkStatus();
  }

  absl::Status Hash(size_t i, const std::stop_token& stop) {
    const CheckpointArray& array = *arrays_[mine_[i]];
    const int64_t good =
        std::max(checkpoint::RoomToHashOnce(array), std::min(BytesOfArray(array), kGoodRoomBytes));
    TESSERA_ASSIGN_OR_RETURN(const auto room, rooms_.Acquire(std::min(good, rooms_.limit()), stop));
    auto hash = checkpoint::HashContent(
        checkpoint_, array, io_,
        {.room_bytes = room.bytes(), .progress = [this](int64_t bytes) { Tell(bytes, 0); }}, stop);
    if (!hash.ok()) return Prefixed(hash.status(), array.name);
    hashes_[i] = *std::move(hash);
    Tell(0, 1);
    return absl::OkStatus();
  }

  void Tell(int64_t bytes, int64_t arrays) {
    if (progress_ == nullptr) return;
    MutexLock lock(mutex_);
    now_.bytes_done += bytes;
    now_.arrays_done += arrays;
    progress_(now_);
  }

  const Checkpoint& checkpoint_;
  const std::span<const CheckpointArray* const> arrays_;
  const std::vector<size_t>& mine_;
  IoContext& io_;
  ByteBudget rooms_;
  const HashListener& progress_;
  std::atomic<size_t> next_{0};
  std::vector<std::string> hashes_;
  Mutex mutex_;
  HashProgress now_ ABSL_GUARDED_BY(mutex_);
};

// Names what is hashed, so that ranks can tell whether they mean the same.
std::string NameOf(const Checkpoint& checkpoint, std::span<const CheckpointArray* const> arrays) {
  std::string text = checkpoint.state_id();
  for (const CheckpointArray* array : arrays) {
    text += Concat("\n", array->name, " ", DTypeName(array->dtype()), ShapeText(array->shape()));
  }
  return HashOf(text).Hex();
}

// Every rank's hashes, one after the other, behind the name of what it hashed.
absl::StatusOr<std::vector<std::string>> Join(std::span<const Bytes> encoded,
                                              const std::vector<std::vector<size_t>>& dealt,
                                              const std::string& name, size_t count) {
  std::vector<std::string> hashes(count);
  for (size_t rank = 0; rank < encoded.size(); ++rank) {
    std::string_view text = encoded[rank].text();
    if (!text.starts_with(name) || text.size() != name.size() + kDigits * dealt[rank].size()) {
      return Aborted("rank ", rank, " has other arrays: the checkpoint was changed meanwhile, or ",
                     "the ranks do not see the same files");
    }
    text.remove_prefix(name.size());
    for (const size_t i : dealt[rank]) {
      hashes[i] = text.substr(0, kDigits);
      text.remove_prefix(kDigits);
    }
  }
  return hashes;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> HashArrays(const Checkpoint& checkpoint,
                                                    std::span<const CheckpointArray* const> arrays,
                                                    const HashContext& context,
                                                    const HashListener& progress,
                                                    std::stop_token stop) {
  const int ranks = context.comm == nullptr ? 1 : context.comm->size();
  const int rank = context.comm == nullptr ? 0 : context.comm->rank();
  const auto dealt = DealArrays(arrays, ranks);
  const auto& mine = dealt[static_cast<size_t>(rank)];
  auto hashes = ShareHasher(checkpoint, arrays, mine, context.io, progress).Run(std::move(stop));
  const std::string name = NameOf(checkpoint, arrays);
  std::string encoded = name;
  if (hashes.ok()) {
    for (const std::string& hash : *hashes) encoded += hash;
  }
  if (context.comm == nullptr) {
    TESSERA_RETURN_IF_ERROR(hashes.status());
    const Bytes alone = Bytes::CopyOf(encoded);
    return Join({&alone, 1}, dealt, name, arrays.size());
  }
  TESSERA_RETURN_IF_ERROR(context.comm->Agree(hashes.status(), context.limit));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> all,
                           context.comm->AllGather(Bytes::CopyOf(encoded), context.limit));
  return Join(all, dealt, name, arrays.size());
}

}  // namespace tessera::inspect
