// Destination: where the elements of an array go while they are read.
#ifndef TESSERA_CORE_DESTINATION_H_
#define TESSERA_CORE_DESTINATION_H_

#include <optional>

#include "absl/status/status.h"
#include "tessera/core/box.h"
#include "tessera/core/strided.h"

namespace tessera {

// Where the elements of an array go, when that is more than one place or not memory of this
// process.  Called by many threads at once.  After an error it may have got anything, also elements
// that were found to be damaged later.
class Destination {
 public:
  virtual ~Destination() = default;

  // Memory, of the box's shape and the array's dtype, that takes all elements of `box`; nullopt
  // when there is no such place, and they are to be given to Put.  Asked once for each part before
  // any is read; inside of a part without memory, for each chunk of its shard.
  virtual std::optional<StridedView> MemoryFor(const Box& box) = 0;

  // Takes the elements of `box`, which live during the call only; the view may lie in any order,
  // and see one element at every index.  No two calls share an element.  The caller may hold a
  // ComputeSlot: Put takes none of its own.  Errors are passed on as they are.
  virtual absl::Status Put(const Box& box, const ConstStridedView& elements) = 0;
};

}  // namespace tessera

#endif  // TESSERA_CORE_DESTINATION_H_
