#include "tessera/zarr/chunk_key.h"

namespace tessera::zarr {

std::string ChunkKey(const ChunkKeys& keys, DimsView cell) {
  std::string key;
  if (keys.style == ChunkKeys::Style::kPrefix) {
    key += 'c';
  } else if (cell.empty()) {
    key += '0';
  }
  for (const int64_t index : cell) {
    if (!key.empty()) key += keys.separator;
    key += std::to_string(index);
  }
  return key;
}

}  // namespace tessera::zarr
