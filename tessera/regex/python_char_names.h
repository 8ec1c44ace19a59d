// Characters by their Unicode name, for \N{...} in rules.
//
// The table is a choice, not all of Unicode: ASCII, Latin-1, Latin Extended-A, Greek, general
// punctuation, super- and subscripts, currency, letter-like symbols, arrows, mathematical
// operators, geometric shapes, and the usual aliases of control characters.
#ifndef TESSERA_REGEX_PYTHON_CHAR_NAMES_H_
#define TESSERA_REGEX_PYTHON_CHAR_NAMES_H_

#include <optional>
#include <string_view>

namespace tessera::regex {

// The character called `name`, in either case; nullopt: the table has no such name.
std::optional<char32_t> CharacterNamed(std::string_view name);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_CHAR_NAMES_H_
