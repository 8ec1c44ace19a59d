// Any bytes as a stored path: what decodes is exactly what encoding its components gives.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/tree/stored_path.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view path(reinterpret_cast<const char*>(data), size);
  const auto components = tessera::tree::DecodeStoredPath(path);
  if (!components.ok()) return 0;
  const auto encoded = tessera::tree::EncodeStoredPath(*components);
  TESSERA_CHECK(encoded.ok() && *encoded == path);
  TESSERA_CHECK(!path.starts_with('/') && path.find("..") == std::string_view::npos);
  return 0;
}
