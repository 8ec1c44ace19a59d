// Any bytes as the index of a sharded set: refused, or every file lies beside the index, and what
// is written of it is written the same again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/safetensors/index_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::safetensors;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool looks = LooksLikeIndexFile(text);
  const auto index = DecodeIndexFile(text);
  if (!index.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(index.status()));
    return 0;
  }
  TESSERA_CHECK(looks);
  for (const auto& [tensor, file] : index->weight_map) {
    TESSERA_CHECK(!file.empty() && file != "." && file != "..");
    TESSERA_CHECK(file.find('/') == file.npos && file.find('\0') == file.npos);
  }
  const auto encoded = EncodeIndexFile(*index);
  TESSERA_CHECK(encoded.ok());
  const auto again = DecodeIndexFile(*encoded);
  TESSERA_CHECK(again.ok() && again->weight_map.size() == index->weight_map.size());
  TESSERA_CHECK(again->total_size == index->total_size);
  const auto encoded_again = EncodeIndexFile(*again);
  TESSERA_CHECK(encoded_again.ok() && *encoded_again == *encoded);
  return 0;
}
