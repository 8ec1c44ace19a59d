// The order in which people count: layers.2 before layers.10.
#ifndef TESSERA_CORE_NATURAL_ORDER_H_
#define TESSERA_CORE_NATURAL_ORDER_H_

#include <string_view>

namespace tessera {

// By bytes, but runs of digits by their value; texts that are equal but for leading zeros by bytes.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace tessera

#endif  // TESSERA_CORE_NATURAL_ORDER_H_
