#include "tessera/checkpoint/stored_sizes.h"

#include <limits>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/status.h"
#include "tessera/store/kv_store.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {
namespace {

bool IsMetadata(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  return name == ".zattrs" || name == zarr::MetadataName(zarr::Format::kV2) ||
         name == zarr::MetadataName(zarr::Format::kV3);
}

void AddSize(uint64_t size, int64_t& sum) {
  if (__builtin_add_overflow(sum, size, &sum)) sum = std::numeric_limits<int64_t>::max();
}

using ArrayPlaces = absl::flat_hash_map<std::string_view, size_t>;

// The array that a key lies below.  Arrays do not lie in one another.
std::optional<size_t> ArrayOf(std::string_view key, const ArrayPlaces& by_path) {
  while (true) {
    const size_t slash = key.rfind('/');
    key = slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
    if (const auto found = by_path.find(key); found != by_path.end()) return found->second;
    if (key.empty()) return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> StoredSizes(const Checkpoint& checkpoint,
                                                 std::stop_token stop) {
  std::vector<int64_t> sizes(checkpoint.arrays().size());
  ArrayPlaces unknown;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const CheckpointArray& array = checkpoint.arrays()[i];
    const std::optional<int64_t> known = array.stored_bytes();
    if (known.has_value()) sizes[i] = *known;
    if (!known.has_value()) unknown.emplace(array.path, i);
  }
  if (unknown.empty()) return sizes;
  TESSERA_ASSIGN_OR_RETURN(const std::vector<store::ListEntry> entries,
                           checkpoint.store().List("", stop));
  for (const store::ListEntry& entry : entries) {
    if (IsMetadata(entry.key)) continue;
    if (const std::optional<size_t> array = ArrayOf(entry.key, unknown)) {
      AddSize(entry.size, sizes[*array]);
    }
  }
  return sizes;
}

}  // namespace tessera::checkpoint
