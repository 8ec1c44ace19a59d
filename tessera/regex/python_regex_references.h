// References to groups whose captured text Python and PCRE2 do not agree on.
//
// Both engines forget what a group captured when they backtrack over it, but in a few places
// Python 3.11 does so otherwise than documented: where a turn of a repeat is empty, in possessive
// repeats, and in negative lookaround.  The text is only seen through references.
#ifndef TESSERA_REGEX_PYTHON_REGEX_REFERENCES_H_
#define TESSERA_REGEX_PYTHON_REGEX_REFERENCES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

struct UnsafeReference {
  size_t position = 0;
  uint32_t group = 0;
  std::string_view reason;  // "stands in a possessive repeat"
};

// The first reference in `syntax` to such a group; nullopt: there is none.
std::optional<UnsafeReference> FindUnsafeReference(const RegexSyntax& syntax);

// The first of `groups` whose text is not to be asked for after a match; its position is 0.
// REQUIRES: there are such groups.
std::optional<UnsafeReference> FindUnsafeGroup(const RegexSyntax& syntax,
                                               std::span<const uint32_t> groups);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_REFERENCES_H_
