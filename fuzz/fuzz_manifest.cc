// Any bytes as a manifest, as they are and behind a first line that fits them: decoded or refused,
// and what is decoded comes back when it is written again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/ledger/manifest.h"

namespace {

void Decode(std::string_view text) {
  const auto manifest = tessera::ledger::DecodeManifest(text);
  if (!manifest.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(manifest.status()) ||
                  absl::IsDataLoss(manifest.status()));
    return;
  }
  const auto again = tessera::ledger::EncodeManifest(*manifest);
  TESSERA_CHECK(again.ok());
  const auto back = tessera::ledger::DecodeManifest(*again);
  TESSERA_CHECK(back.ok() && *back == *manifest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Decode(text);
  // With a digest to meet, no fuzzer would ever come past the first line.
  if (const size_t line = text.find('\n'); line != std::string_view::npos) {
    text.remove_prefix(line + 1);
  }
  Decode(tessera::Concat("{\"digest\":\"", tessera::HashOf(text).Hex(), "\",\n", text));
  return 0;
}
