// Parts: which chunks a process reads of an array, and how much of each.
//
// Planner and loader use the same functions, so that a plan tells what will be done.  Pure.
#ifndef TESSERA_CHECKPOINT_PLAN_LOAD_PARTS_H_
#define TESSERA_CHECKPOINT_PLAN_LOAD_PARTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/box.h"
#include "tessera/core/shape.h"
#include "tessera/mesh/sharding.h"

namespace tessera::checkpoint {

// Calls `body` for every chunk that meets a box, in C order: with the smallest box that holds all
// that the boxes need of it.  Nothing is kept, however many chunks there are.  Stops at the first
// error.  REQUIRES: the boxes lie in an array of `shape`.
absl::Status ForEachPart(DimsView shape, DimsView chunk_shape, std::span<const Box> boxes,
                         absl::FunctionRef<absl::Status(const Box& part)> body);

// What one process reads of an array.
struct PartCounts {
  int64_t parts = 0;    // chunks
  int64_t wanted = 0;   // elements of its distinct boxes
  int64_t decoded = 0;  // elements of the chunks
  friend bool operator==(const PartCounts&, const PartCounts&) = default;
};

// Which blocks of an array each process has under a sharding, whatever the array's sizes.
class BlockLayout {
 public:
  struct Process {
    int process = 0;
    int64_t devices = 0;
    std::vector<Dims> blocks;                   // distinct, ascending
    std::vector<std::vector<int64_t>> factors;  // per dimension: those of the blocks, ascending
    bool is_product = false;                    // the blocks are all that the factors make
  };

  // Errors of mesh::PlaceShards.
  static absl::StatusOr<BlockLayout> Make(const mesh::Sharding& sharding, int rank);

  // How many blocks there are along each dimension.
  const Dims& split() const { return split_; }
  // Ascending.
  const std::vector<Process>& processes() const { return processes_; }

 private:
  Dims split_;
  std::vector<Process> processes_;
};

// By a formula of a few steps per block, however many chunks there are: fewest where the blocks of
// a process make a grid, as they do on every mesh that people build.  REQUIRES: the layout divides
// `shape`.
absl::StatusOr<PartCounts> CountParts(const BlockLayout& layout,
                                      const BlockLayout::Process& process, DimsView shape,
                                      DimsView chunk_shape);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_PLAN_LOAD_PARTS_H_
