// Who copies which units.
#ifndef TESSERA_CONVERT_PLAN_SHARES_H_
#define TESSERA_CONVERT_PLAN_SHARES_H_

#include <cstdint>
#include <vector>

#include "tessera/convert/plan.h"

namespace tessera::convert {

// Cuts the bytes of all arrays, one after the other, into as many even stretches as there are
// ranks; a unit belongs to the rank that its first byte falls to.  Returns the bytes of each.
std::vector<int64_t> ShareUnits(int ranks, std::vector<ConvertArray>& arrays);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_PLAN_SHARES_H_
