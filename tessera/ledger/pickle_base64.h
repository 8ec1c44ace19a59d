// Base64 (RFC 4648, section 4) in its one canonical form.
#ifndef TESSERA_LEDGER_PICKLE_BASE64_H_
#define TESSERA_LEDGER_PICKLE_BASE64_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::ledger {

std::string EncodeBase64(std::span<const std::byte> bytes);

// InvalidArgument, with the place, for anything that EncodeBase64 does not make: other characters,
// blanks, missing padding, bits set behind the last byte.
absl::StatusOr<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_BASE64_H_
