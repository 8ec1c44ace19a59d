// Any bytes as a zarr.json: refused, or written and read again as the same metadata.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/zarr/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tessera::zarr::Format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = tessera::zarr::ParseMetadata(Format::kV3, text);
  if (!read.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(read.status()) || absl::IsUnimplemented(read.status()));
    return 0;
  }
  const auto again = tessera::zarr::ParseMetadata(Format::kV3, tessera::zarr::MetadataText(*read));
  TESSERA_CHECK(again.ok() && *again == *read);
  return 0;
}
