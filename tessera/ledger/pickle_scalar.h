// Plain values as Python pickles them: None, bool, int, float, complex, str.
#ifndef TESSERA_LEDGER_PICKLE_SCALAR_H_
#define TESSERA_LEDGER_PICKLE_SCALAR_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/tree/scalar.h"

namespace tessera::ledger {

// nullopt is None.  Unimplemented for every other value, an int past 64 bits and text that is no
// UTF-8; DataLoss for a broken pickle.  Nothing is run.
absl::StatusOr<std::optional<tree::Scalar>> DecodeScalarPickle(std::span<const std::byte> pickle);

// InvalidArgument for text that is no UTF-8 or has 4 GiB.
absl::StatusOr<std::vector<std::byte>> EncodeScalarPickle(const std::optional<tree::Scalar>& value);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_SCALAR_H_
