// The blocks of safetensors files that one rank writes, and how they are put together.
#ifndef TESSERA_CHECKPOINT_SAVE_BLOCKS_H_
#define TESSERA_CHECKPOINT_SAVE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/snapshot.h"
#include "tessera/core/box.h"
#include "tessera/core/buffer.h"

namespace tessera::checkpoint {

// A block, or the pieces of it that this rank has.
struct HeldBlock {
  size_t array = 0;  // in plan.arrays
  int64_t cell = 0;  // its number, in C order
  Box box = {};
  std::span<const HeldPart* const> parts = {};  // that have elements of it
  bool whole = false;                           // together they have all of it
};

// What one thread works with.
struct BlockWorker {
  Buffer elements = {};
  Buffer stored = {};
};

// The blocks of a rank, in the order of the files.
class HeldBlocks {
 public:
  // Both outlive this.
  HeldBlocks(const SavePlan& plan, const Snapshot& snapshot);
  HeldBlocks(const HeldBlocks&) = delete;
  HeldBlocks& operator=(const HeldBlocks&) = delete;

  std::span<const HeldBlock> blocks() const { return blocks_; }
  int64_t bytes() const { return bytes_; }  // of all pieces, in memory
  // The most that a worker holds while it encodes or writes a block.
  int64_t worker_bytes() const;

  // The elements of a part that lie in the block.
  Box PieceOf(const HeldBlock& block, const HeldPart& part) const;
  ConstStridedView ElementsOf(const HeldBlock& block, const HeldPart& part) const;

  // A whole block as the file has it; lives in the snapshot, or in the worker until its next block.
  absl::StatusOr<std::span<const std::byte>> Encode(const HeldBlock& block,
                                                    BlockWorker& worker) const;

 private:
  absl::StatusOr<ConstStridedView> Assemble(const HeldBlock& block, BlockWorker& worker) const;

  const SavePlan& plan_;
  std::vector<const HeldPart*> parts_;
  std::vector<HeldBlock> blocks_;
  int64_t bytes_ = 0;
};

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_BLOCKS_H_
