#include "tessera/comm/threads.h"

#include <array>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "tessera/core/mutex.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

// What a rank shows the others in one round.  The memory it looks at stays as it is until a later
// round, so that they may read it without a lock.
struct Post {
  Mark mark = {};
  std::vector<int64_t> values = {};
  std::span<const Send> sends = {};
  std::span<const std::byte> out = {};
};

// Where the ranks meet.  A round is complete when every rank has posted in it; once a rank is gone
// no round completes any more.
class World {
 public:
  explicit World(int size)
      : size_(size),
        posts_{std::vector<Post>(static_cast<size_t>(size)),
               std::vector<Post>(static_cast<size_t>(size))},
        rounds_(static_cast<size_t>(size), 0) {}

  int size() const { return size_; }

  // Posts for this rank's next round and waits until it is complete.
  absl::Status Join(int rank, const Call& call, Post post) {
    std::stop_callback wake(call.stop, [this] {
      MutexLock lock(mutex_);
      changed_.NotifyAll();
    });
    MutexLock lock(mutex_);
    const int64_t round = rounds_[static_cast<size_t>(rank)]++;
    PostsOf(round)[static_cast<size_t>(rank)] = std::move(post);
    if (gone_.ok() && ++arrived_ == size_) CompleteRound();
    bool in_time = true;
    while (completed_ <= round) {
      if (!gone_.ok()) return Prefixed(gone_, Concat("rank ", gone_rank_));
      if (call.stop.stop_requested()) return Go(rank, Cancelled(call.Text(), ": stopped"));
      if (!in_time) return Go(rank, TooLate(call, round));
      in_time = changed_.WaitUntil(mutex_, call.deadline);
    }
    return absl::OkStatus();
  }

  // What the ranks posted in the round that `rank` joined last.  They stay until it joins the next
  // round but one, which needs everybody to have joined the next.
  const std::vector<Post>& Posted(int rank) {
    MutexLock lock(mutex_);
    return PostsOf(rounds_[static_cast<size_t>(rank)] - 1);
  }

  void Leave(int rank, const absl::Status& why) {
    MutexLock lock(mutex_);
    Go(rank, why).IgnoreError();
  }

 private:
  std::vector<Post>& PostsOf(int64_t round) { return posts_[static_cast<size_t>(round % 2)]; }

  void CompleteRound() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++completed_;
    arrived_ = 0;
    changed_.NotifyAll();
  }

  absl::Status Go(int rank, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!gone_.ok()) return why;
    gone_ = why;
    gone_rank_ = rank;
    changed_.NotifyAll();
    return why;
  }

  absl::Status TooLate(const Call& call, int64_t round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<int> missing;
    for (int rank = 0; rank < size_; ++rank) {
      if (rounds_[static_cast<size_t>(rank)] <= round) missing.push_back(rank);
    }
    const double seconds = std::chrono::duration<double>(call.timeout).count();
    return absl::DeadlineExceededError(
        Concat(call.Text(), ": ", RanksText(missing), " did not come within ", seconds, " s"));
  }

  const int size_;
  std::array<std::vector<Post>, 2> posts_;  // by the round's parity; written under mutex_
  Mutex mutex_;
  CondVar changed_;
  std::vector<int64_t> rounds_ ABSL_GUARDED_BY(mutex_);  // joined so far, by rank
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t completed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status gone_ ABSL_GUARDED_BY(mutex_);
  int gone_rank_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ThreadEngine final : public Engine {
 public:
  ThreadEngine(World& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }

  absl::StatusOr<std::vector<Mark>> Meet(const Call& call, const Mark& mine) override {
    TESSERA_RETURN_IF_ERROR(world_.Join(rank_, call, {.mark = mine}));
    std::vector<Mark> marks;
    for (const Post& post : world_.Posted(rank_)) marks.push_back(post.mark);
    return marks;
  }

  absl::StatusOr<std::vector<int64_t>> Swap(const Call& call,
                                            std::vector<int64_t> values) override {
    TESSERA_RETURN_IF_ERROR(world_.Join(rank_, call, {.values = std::move(values)}));
    std::vector<int64_t> mine;
    for (const Post& post : world_.Posted(rank_)) {
      mine.push_back(post.values[static_cast<size_t>(rank_)]);
    }
    return mine;
  }

  absl::Status Move(const Call& call, std::span<const Send> sends,
                    std::span<const Receive> receives) override {
    TESSERA_RETURN_IF_ERROR(world_.Join(rank_, call, {.sends = sends}));
    const std::vector<Post>& posts = world_.Posted(rank_);
    std::vector<size_t> next(posts.size(), 0);
    for (const Receive& receive : receives) {
      const auto from = static_cast<size_t>(receive.from);
      const Send& send = NextToMe(posts[from].sends, next[from]);
      TESSERA_CHECK(send.bytes.size() == receive.bytes.size());
      std::memcpy(receive.bytes.data(), send.bytes.data(), send.bytes.size());
    }
    return AwaitReaders(call);
  }

  absl::Status Spread(const Call& call, int root, std::span<const std::byte> out,
                      std::span<std::byte> in) override {
    TESSERA_RETURN_IF_ERROR(world_.Join(rank_, call, {.out = out}));
    const std::span<const std::byte> source = world_.Posted(rank_)[static_cast<size_t>(root)].out;
    if (rank_ != root) std::memcpy(in.data(), source.data(), source.size());
    return AwaitReaders(call);
  }

  void Abort(int64_t, const absl::Status& why) override { world_.Leave(rank_, why); }

 private:
  const Send& NextToMe(std::span<const Send> sends, size_t& next) const {
    while (next < sends.size() && sends[next].to != rank_) ++next;
    TESSERA_CHECK(next < sends.size());
    return sends[next++];
  }

  // The others read this rank's memory now.  They are all here and only copy, so the wait is short
  // and has no limit: to return earlier would take the memory away from under them.
  absl::Status AwaitReaders(const Call& call) {
    Call patient = call;
    patient.deadline = std::chrono::steady_clock::time_point::max();
    patient.stop = {};
    return world_.Join(rank_, patient, {});
  }

  World& world_;
  const int rank_;
};

// The error of the rank that failed first, which the others' errors only follow.
class FirstError {
 public:
  void Report(int rank, const absl::Status& status) {
    MutexLock lock(mutex_);
    if (first_.ok()) first_ = Prefixed(status, Concat("rank ", rank));
  }
  absl::Status status() {
    MutexLock lock(mutex_);
    return first_;
  }

 private:
  Mutex mutex_;
  absl::Status first_ ABSL_GUARDED_BY(mutex_);
};

void RunRank(World& world, int rank, FirstError& error,
             const std::function<absl::Status(Comm&)>& body) {
  Comm comm(std::make_unique<ThreadEngine>(world, rank));
  const absl::Status status = body(comm);
  if (status.ok()) return;
  error.Report(rank, status);
  comm.Abort(status);
}

}  // namespace

absl::Status RunRanks(int ranks, const std::function<absl::Status(Comm&)>& body) {
  if (ranks < 1) return InvalidArgument("found ", ranks, " ranks, expected at least 1");
  World world(ranks);
  FirstError error;
  {
    std::vector<std::jthread> threads;  // joined where this block ends
    for (int rank = 0; rank < ranks; ++rank) {
      try {
        threads.emplace_back([&, rank] { RunRank(world, rank, error, body); });
      } catch (const std::system_error& refused) {
        const auto why = ResourceExhausted("no thread could be started: ", refused.what());
        error.Report(rank, why);
        world.Leave(rank, why);
        break;
      }
    }
  }
  return error.status();
}

}  // namespace tessera::comm
