#include "tessera/inspect/read_batches.h"

#include <vector>

#include "tessera/checkpoint/plan_load_parts.h"
#include "tessera/core/status.h"

namespace tessera::inspect {
namespace {

constexpr size_t kMostParts = 4096;

}  // namespace

absl::Status ReadInBatches(const checkpoint::ArrayReader& reader,
                           const checkpoint::CheckpointArray& array, const Box& box,
                           Destination& destination, const BatchCalls& calls, IoContext& io,
                           std::stop_token stop) {
  if (box.empty()) return absl::OkStatus();
  std::vector<Box> parts;
  const auto read = [&]() -> absl::Status {
    TESSERA_RETURN_IF_ERROR(reader.Read(parts, destination, io, stop));
    parts.clear();
    calls.after_batch();
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(checkpoint::ForEachPart(
      array.shape(), array.chunk_shape(), std::span(&box, 1), [&](const Box& part) -> absl::Status {
        const std::optional<Box> wanted = calls.wanted(part);
        if (!wanted.has_value()) return absl::OkStatus();
        parts.push_back(*wanted);
        return parts.size() < kMostParts ? absl::OkStatus() : read();
      }));
  return parts.empty() ? absl::OkStatus() : read();
}

}  // namespace tessera::inspect
