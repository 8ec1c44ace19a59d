// Engine: what a way of connecting ranks must be able to do.  Comm makes all collectives from it.
//
// Comm keeps to this: every collective begins with a Meet, whose marks are compared before any
// memory is touched, so an engine is only ever asked for the same thing on every rank.  After an
// error other than one of arguments, no primitive is called any more.
#ifndef TESSERA_COMM_ENGINE_H_
#define TESSERA_COMM_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::comm {

// A piece of memory that goes to another rank.
struct Send {
  int to = 0;
  std::span<const std::byte> bytes;
};

// A piece of memory that another rank's bytes come to.
struct Receive {
  int from = 0;
  std::span<std::byte> bytes;
};

// Numbers as text, for messages: "rank 2", "ranks 1, 4 and 12 others".
std::string RanksText(std::span<const int> ranks);

enum class CallKind : int32_t {
  kBarrier,
  kBroadcast,
  kGather,
  kAllGather,
  kAllToAll,
  kExchange,
  kAllReduce,
  kAgree,
};

// What a rank says of itself when it meets the others.
struct Mark {
  CallKind kind = CallKind::kBarrier;
  int32_t detail = 0;  // the root or the operation, which every rank gives alike
  int64_t value = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};

// One collective call, as each of its primitives sees it.
struct Call {
  int64_t index = 0;  // from 0, counted alike on every rank
  std::string_view name;
  std::chrono::nanoseconds timeout{};
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;

  // "Barrier (call 3)", how messages begin.
  std::string Text() const;
};

// Used by one thread at a time.  Each primitive returns when its part is done, or with an error by
// which every rank soon learns that the call has failed.  Destruction does not hang.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Waits until every rank is here.  Everyone's mark, by rank.
  virtual absl::StatusOr<std::vector<Mark>> Meet(const Call& call, const Mark& mine) = 0;

  // values[r] goes to rank r; what came from rank r is at place r.  REQUIRES: size() values.
  virtual absl::StatusOr<std::vector<int64_t>> Swap(const Call& call,
                                                    std::vector<int64_t> values) = 0;

  // Moves pieces of equal sizes on both sides, in order for each pair of ranks.  Returns OK when
  // the memory of all sends may change again.  REQUIRES: no piece goes to this rank itself.
  virtual absl::Status Move(const Call& call, std::span<const Send> sends,
                            std::span<const Receive> receives) = 0;

  // The root's `out` comes to `in` on every other rank.  All sizes are equal; the root's `in` and
  // the others' `out` are empty.
  virtual absl::Status Spread(const Call& call, int root, std::span<const std::byte> out,
                              std::span<std::byte> in) = 0;

  // Tells the others that this rank takes no part from call `index` on, and why.  Does not wait.
  // A second time it does nothing.
  virtual void Abort(int64_t index, const absl::Status& why) = 0;
};

}  // namespace tessera::comm

#endif  // TESSERA_COMM_ENGINE_H_
