// The units of a plan that are this rank's, worked through by as many workers as there is memory.
#ifndef TESSERA_CONVERT_UNIT_LOOP_H_
#define TESSERA_CONVERT_UNIT_LOOP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/load_array.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/source.h"
#include "tessera/core/buffer.h"
#include "tessera/core/io_context.h"
#include "tessera/core/mutex.h"
#include "tessera/core/strided.h"

namespace tessera::convert {

struct Unit {
  size_t array = 0;  // in the plan
  int64_t number = 0;
  friend auto operator<=>(const Unit&, const Unit&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Unit& unit) {
    return H::combine(std::move(state), unit.array, unit.number);
  }
};
using UnitSet = absl::flat_hash_set<Unit>;

// What one worker keeps from unit to unit.
struct UnitWorker {
  Buffer source = {};     // a unit as it was read
  Buffer converted = {};  // in the new dtype
  Buffer room = {};       // of the calls that write
};

// The units of `rank` that are not in `done`: those first that need most.
std::vector<Unit> UnitsOf(const ConvertPlan& plan, int rank, const UnitSet& done);

// Calls work(unit, ...) for each, on the pool of `io`.  The memory of all workers is taken from the
// budget at once and is never more than the plan gives to units, so that calls made by the workers
// find theirs.  ResourceExhausted when the budget is smaller than planned with.
using UnitWork = absl::FunctionRef<absl::Status(const Unit&, UnitWorker&, const std::stop_token&)>;
absl::Status ForEachUnit(const ConvertPlan& plan, const std::vector<Unit>& units, IoContext& io,
                         std::stop_token stop, UnitWork work);

// Readers of the arrays of a source, each made once and dropped after its last unit.  Thread-safe.
class UnitReaders {
 public:
  // `arrays[i]` is that of the plan's array i.
  UnitReaders(std::vector<SourceArray> arrays, const std::vector<Unit>& units);

  using Reader = std::shared_ptr<const checkpoint::ArrayReader>;
  absl::StatusOr<Reader> Get(size_t array);
  // One unit of the array is done.
  void Release(size_t array);

 private:
  struct Slot {
    Reader reader;
    int64_t left = 0;
  };

  const std::vector<SourceArray> arrays_;
  Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_UNIT_LOOP_H_
