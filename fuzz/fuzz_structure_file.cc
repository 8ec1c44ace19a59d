// Any bytes as eformer's structure file: refused, or its tree is rebuilt and the file is written
// and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/ledger/structure_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::ledger;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = DecodeStructureFile(text, "tx");
  if (!file.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(file.status()) ||
                  absl::IsFailedPrecondition(file.status()));
    return 0;
  }
  const auto rebuilt = RebuildTree(*file);
  TESSERA_CHECK(rebuilt.ok() || absl::IsFailedPrecondition(rebuilt.status()));
  const auto written = EncodeStructureFile(*file);
  TESSERA_CHECK(written.ok());
  const auto again = DecodeStructureFile(*written, "tx");
  TESSERA_CHECK(again.ok());
  TESSERA_CHECK(EncodeStructureFile(*again).ok());
  return 0;
}
