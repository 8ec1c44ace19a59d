// Any bytes as the structure of a tree: decoded or refused, and what is decoded comes back when it
// is written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/ledger/structure.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int64_t records : {0, 1, 3}) {
    const auto tree = tessera::ledger::DecodeStructure(text, records);
    if (!tree.ok()) {
      TESSERA_CHECK(absl::IsInvalidArgument(tree.status()));
      continue;
    }
    // Texts are compared, as a NaN is not equal to itself.
    const auto written = tessera::ledger::EncodeStructure(*tree);
    TESSERA_CHECK(written.ok());
    const auto back = tessera::ledger::DecodeStructure(*written, records);
    TESSERA_CHECK(back.ok() && *tessera::ledger::EncodeStructure(*back) == *written);
  }
  return 0;
}
