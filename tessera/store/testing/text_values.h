// Values that are text.
#ifndef TESSERA_STORE_TESTING_TEXT_VALUES_H_
#define TESSERA_STORE_TESTING_TEXT_VALUES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tessera/store/kv_store.h"

namespace tessera::store::testing {

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The value under a key as text; "<missing>" when there is none.
inline std::string TextAt(KvStore& store, std::string_view key, const ByteRange& range = {}) {
  const auto result = store.Read(key, range);
  if (!result.ok()) return result.status().ToString();
  return result->value.has_value() ? std::string(result->value->text()) : "<missing>";
}

}  // namespace tessera::store::testing

#endif  // TESSERA_STORE_TESTING_TEXT_VALUES_H_
