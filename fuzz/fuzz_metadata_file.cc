// Any bytes as the metadata of a checkpoint, of a run, and as a time: decoded or refused, and what
// is decoded comes back when it is written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/ledger/metadata_file.h"

namespace {

template <typename Decode, typename Encode>
void ThereAndBack(std::string_view text, Decode decode, Encode encode) {
  const auto value = decode(text);
  if (!value.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(value.status()));
    return;
  }
  const auto written = encode(*value);
  TESSERA_CHECK(written.ok());
  const auto back = decode(*written);
  TESSERA_CHECK(back.ok() && *back == *value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ledger = tessera::ledger;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ThereAndBack(text, ledger::DecodeCheckpointMetadata, ledger::EncodeCheckpointMetadata);
  ThereAndBack(text, ledger::DecodeRunMetadata, ledger::EncodeRunMetadata);
  const auto time = ledger::ParseTimestamp(text);
  TESSERA_CHECK(time.ok() || absl::IsInvalidArgument(time.status()));
  return 0;
}
