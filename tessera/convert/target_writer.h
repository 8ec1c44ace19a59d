// TargetWriter: writes units of new arrays, whatever the format.
#ifndef TESSERA_CONVERT_TARGET_WRITER_H_
#define TESSERA_CONVERT_TARGET_WRITER_H_

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/checkpoint/save_writer.h"
#include "tessera/convert/plan.h"
#include "tessera/core/box.h"
#include "tessera/core/buffer.h"
#include "tessera/core/io_context.h"
#include "tessera/core/strided.h"
#include "tessera/store/kv_store.h"

namespace tessera::convert {

// Cells of an array with what was stored for them.
using StoredChunks = std::vector<checkpoint::StoredChunk>;

// Thread-safe.
class TargetWriter {
 public:
  virtual ~TargetWriter() = default;

  // Makes every file, or every metadata document, that units are written into.  By one rank.
  virtual absl::Status Prepare(IoContext& io, std::stop_token stop) = 0;

  // Stores `elements` as those of `box` of array number `array` in the plan.  Returns the cells
  // that were hashed on the way, which are those that the box covers or fewer.
  virtual absl::StatusOr<StoredChunks> Write(size_t array, const Box& box,
                                             const ConstStridedView& elements, Buffer& room,
                                             IoContext& io, std::stop_token stop) = 0;

  // Size and hash of a cell, from the store.
  virtual absl::StatusOr<StoredValue> HashCell(size_t array, int64_t cell,
                                               std::span<std::byte> room, std::stop_token stop) = 0;
};

// Plan and store outlive the writer.
std::unique_ptr<TargetWriter> MakeZarrWriter(const ConvertPlan& plan, store::KvStore& store);
std::unique_ptr<TargetWriter> MakeSafetensorsWriter(const ConvertPlan& plan, store::KvStore& store);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_TARGET_WRITER_H_
