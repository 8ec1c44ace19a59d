// Checks that text is UTF-8 as Unicode defines it: no overlong form, no surrogate, nothing past
// U+10FFFF.
#ifndef TESSERA_CORE_UTF8_H_
#define TESSERA_CORE_UTF8_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace tessera {

// Where the first ill-formed sequence of `text` begins, or nullopt when there is none.
std::optional<size_t> FirstInvalidUtf8(std::string_view text);

inline bool IsValidUtf8(std::string_view text) { return !FirstInvalidUtf8(text).has_value(); }

// The length in bytes, 1 to 4, of the code point that `text` begins with; 0 when the bytes there
// are ill-formed or `text` is empty.
size_t Utf8SequenceLength(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_CORE_UTF8_H_
