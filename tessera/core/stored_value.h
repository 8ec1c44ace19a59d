// StoredValue: what a manifest says of the value under a key.
#ifndef TESSERA_CORE_STORED_VALUE_H_
#define TESSERA_CORE_STORED_VALUE_H_

#include <cstdint>

#include "tessera/core/hash128.h"

namespace tessera {

// A stored value as a whole.
struct StoredValue {
  uint64_t size = 0;
  Hash128 hash = {};
  friend bool operator==(const StoredValue&, const StoredValue&) = default;
};

}  // namespace tessera

#endif  // TESSERA_CORE_STORED_VALUE_H_
