// What ranks must have in common before they move an array together.
#ifndef TESSERA_ARRAY_RESHARD_AGREEMENT_H_
#define TESSERA_ARRAY_RESHARD_AGREEMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tessera/comm/comm.h"

namespace tessera::array {

// Something that is said to be the same on every rank.
struct CommonValue {
  std::string_view name;  // "the shape"
  std::string text;       // equal texts are equal values
};

// Collective: every rank gives the same names.  OK when all texts agree; else the same
// InvalidArgument on every rank, which names the first value that differs, the ranks and what each
// of them has.
absl::Status AgreeOnValues(std::span<const CommonValue> values, comm::Comm& comm,
                           const comm::Limit& limit);

}  // namespace tessera::array

#endif  // TESSERA_ARRAY_RESHARD_AGREEMENT_H_
