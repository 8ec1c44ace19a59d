// Comm: the ranks of one program that work together, and what they say to each other.
//
// The rules, for every engine:
//   - A call is collective: every rank makes the same calls in the same order.  A rank that makes
//     another one is told so, and so are the others.
//   - A Comm is used by one thread at a time; which thread may change between calls.  Two Comms of
//     one rank are independent of each other.
//   - No call hangs.  When its limit has passed, when a rank aborts or leaves, or when the engine
//     loses a rank, each rank that waits gets an error that names who did not come, or who failed
//     and why.  The Comm is then broken: every later call is FailedPrecondition.
//   - Arguments that one rank finds wrong are an InvalidArgument on every rank, and the Comm works
//     on.
#ifndef TESSERA_COMM_COMM_H_
#define TESSERA_COMM_COMM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/comm/engine.h"
#include "tessera/core/bytes.h"

namespace tessera::comm {

// How long a call may take, and what ends it earlier.  The call fails with DeadlineExceeded or
// Cancelled; an engine may need a second more to find out who is missing.
struct Limit {
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  std::stop_token stop = {};
};

enum class ReduceOp {
  kMin,
  kMax,
  kSum,  // wraps around on overflow
  kAnd,  // bit by bit
};

class Comm final {
 public:
  explicit Comm(std::unique_ptr<Engine> engine);

  // Leaves: a call that this rank has not made fails on the others.  Does not hang.
  ~Comm();

  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns when every rank is here.
  absl::Status Barrier(const Limit& limit = {});

  // The root's value, on every rank.  What the others give is ignored.
  absl::StatusOr<Bytes> Broadcast(Bytes value, int root, const Limit& limit = {});

  // Every rank's value, by rank, on the root; an empty list elsewhere.
  absl::StatusOr<std::vector<Bytes>> Gather(Bytes value, int root, const Limit& limit = {});

  // Every rank's value, by rank, on every rank.
  absl::StatusOr<std::vector<Bytes>> AllGather(Bytes value, const Limit& limit = {});

  // values[r] goes to rank r, and what came from rank r is at place r of the result.
  absl::StatusOr<std::vector<Bytes>> AllToAll(std::vector<Bytes> values, const Limit& limit = {});

  // Moves bytes straight from memory to memory.  Every rank knows from a common plan what it sends
  // and receives; the pieces between two ranks are matched in order and have equal sizes.  A rank
  // may send to itself.  A piece may have any size; those received must not overlap anything.
  // After an error what was received means nothing.
  absl::Status Exchange(std::span<const Send> sends, std::span<const Receive> receives,
                        const Limit& limit = {});

  // All ranks' values made one.  For a truth value take kAnd of 0 and 1.
  absl::StatusOr<int64_t> AllReduce(int64_t value, ReduceOp op, const Limit& limit = {});

  // OK when every rank's status is.  Else the same error on every rank: the code and kind of the
  // lowest rank that failed, and a message that names the ranks that failed and why.
  absl::Status Agree(const absl::Status& mine, const Limit& limit = {});

  // Says that this rank takes part in nothing more: the calls it has not made fail on the others
  // with this error and this rank's number.  For a rank that cannot go on to the next Agree.
  // REQUIRES: !why.ok().
  void Abort(const absl::Status& why);

 private:
  absl::StatusOr<Call> Begin(std::string_view name, const Limit& limit);
  absl::StatusOr<std::vector<Mark>> Meet(const Call& call, const Mark& mine);
  absl::StatusOr<std::vector<Mark>> MeetAtRoot(const Call& call, const Mark& mine);
  absl::StatusOr<std::vector<Bytes>> MoveBytes(const Call& call, std::span<const Bytes> out,
                                               std::span<const int64_t> in_sizes);
  absl::StatusOr<std::vector<Bytes>> MoveToAll(const Call& call, const Bytes& value,
                                               std::span<const Mark> marks);
  absl::Status CheckRanks(const Call& call, std::span<const Send> sends,
                          std::span<const Receive> receives);
  absl::Status CheckSizes(const Call& call, std::span<const Send> sends,
                          std::span<const Receive> receives);

  // Makes `why` the reason that every later call names, and returns it.
  absl::Status Broken(const absl::Status& why);
  // As Broken, for what only this rank knows: tells the others.
  absl::Status Fail(const Call& call, const absl::Status& why);

  const std::unique_ptr<Engine> engine_;
  const int rank_;
  const int size_;
  int64_t calls_ = 0;  // begun so far
  absl::Status broken_;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_COMM_H_
