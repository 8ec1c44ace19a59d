// ReshardPlan: how an array moves from one sharding to another, as plain data.
//
// The plan is a pure function of its arguments, so every process makes the same one without asking
// the others.  Each byte of a target shard comes from exactly one device, chosen by these rules:
//   1. The device's own bytes, where it has them.  When neither its box nor its kind of memory
//      changes, the shard is kept and nothing is copied.
//   2. Else a device of the same process: the one that was read least so far.
//   3. Else a device of another process: of the processes that have the bytes, the one that has
//      sent least so far, and of its devices the one that was read least so far.  A box crosses
//      between two processes once; when several devices of the receiver need it, the receiver
//      copies it to each.
// Equal loads go to the lower process and to the device that is earlier in its sharding.  Boxes
// are taken in row-major order of the target's blocks, for each of them in row-major order of the
// source's blocks, and for each of these by process of the target.
#ifndef TESSERA_ARRAY_RESHARD_PLAN_H_
#define TESSERA_ARRAY_RESHARD_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/json.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/sharding.h"

namespace tessera::array {

// Below, `source` and `target` are positions in ReshardPlan::sources and ReshardPlan::targets, and
// boxes are in indices of the whole array.

// A shard that stays as it is.
struct KeptShard {
  int64_t source = 0;
  int64_t target = 0;
  friend bool operator==(const KeptShard&, const KeptShard&) = default;
};

// A box that is copied inside one process, between two devices or within one.
struct LocalCopy {
  int64_t source = 0;
  int64_t target = 0;
  Box box;
  int64_t bytes = 0;
  friend bool operator==(const LocalCopy&, const LocalCopy&) = default;
};

// A box that crosses to another process, which copies it to each of its `targets`.
struct BoxTransfer {
  int64_t round = 0;
  int64_t source = 0;
  absl::InlinedVector<int64_t, 2> targets;
  Box box;
  int64_t bytes = 0;
  friend bool operator==(const BoxTransfer&, const BoxTransfer&) = default;
};

// What one process does.  Kept, copied and received together are its target shards.
struct ProcessTotals {
  int process = 0;
  int64_t kept_bytes = 0;
  // Also what a received box takes on each device after the first.
  int64_t copied_bytes = 0;
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;
  // The most that one round sends and receives.
  int64_t peak_staging_bytes = 0;
  friend bool operator==(const ProcessTotals&, const ProcessTotals&) = default;
};

struct ReshardPlanOptions {
  // The most staging memory of any process: half for what it sends, half for what it receives.
  int64_t budget_bytes = int64_t{1} << 30;
};

struct ReshardPlan {
  ShapeDtype array;
  std::vector<mesh::DeviceShard> sources;  // in device order
  std::vector<mesh::DeviceShard> targets;
  std::vector<KeptShard> kept;
  std::vector<LocalCopy> copies;
  std::vector<BoxTransfer> transfers;  // by round
  int64_t rounds = 0;
  std::vector<ProcessTotals> totals;  // by process, ascending, of those that have a shard

  // A line for each act and each process.
  std::string Text() const;

  friend bool operator==(const ReshardPlan&, const ReshardPlan&) = default;
};

// No plan has more transfers; a budget that asks for more is taken for a mistake.
inline constexpr int64_t kMaxTransfers = int64_t{1} << 22;

// Costs time linear in the pairs of a source and a target shard that overlap.  Errors of
// mesh::PlaceShards for either sharding.  InvalidArgument for an unknown memory kind, when a device
// belongs to different processes in the two, when sizes do not fit 63 bits, or when the budget
// holds less than two elements or asks for more than kMaxTransfers transfers.
absl::StatusOr<ReshardPlan> PlanReshard(const ShapeDtype& array, const mesh::Sharding& from,
                                        const mesh::Sharding& to,
                                        const ReshardPlanOptions& options = {});

Json ToJson(const ReshardPlan& plan);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_RESHARD_PLAN_H_
