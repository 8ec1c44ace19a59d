// Any bytes as a pickled tree definition and as a pickled value: refused, or what is read can be
// written and read again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle_scalar.h"
#include "tessera/ledger/pickle_tree_def.h"

namespace {

using namespace tessera::ledger;

void CheckRefusal(const absl::Status& status) {
  TESSERA_CHECK(absl::IsDataLoss(status) || absl::IsUnimplemented(status));
}

void CheckTreeDef(std::span<const std::byte> bytes) {
  const auto structure = DecodeTreeDef(bytes);
  if (!structure.ok()) return CheckRefusal(structure.status());
  const auto pickle = EncodeTreeDef(*structure);
  if (!pickle.ok()) {
    // The type of a named tuple may be any text.
    TESSERA_CHECK(absl::IsUnimplemented(pickle.status()));
    return;
  }
  const auto again = DecodeTreeDef(*pickle);
  TESSERA_CHECK(again.ok() && *again == *structure);
}

void CheckScalar(std::span<const std::byte> bytes) {
  const auto value = DecodeScalarPickle(bytes);
  if (!value.ok()) return CheckRefusal(value.status());
  const auto pickle = EncodeScalarPickle(*value);
  TESSERA_CHECK(pickle.ok());
  const auto again = DecodeScalarPickle(*pickle);
  TESSERA_CHECK(again.ok());
  // Compared as bytes, as NaN equals nothing.
  TESSERA_CHECK(*EncodeScalarPickle(*again) == *pickle);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  CheckTreeDef(bytes);
  CheckScalar(bytes);
  return 0;
}
