// Which characters Python's IGNORECASE takes for the same.
//
// The relation is an equivalence: equal simple lower case, and a few classes beyond it (s and
// U+017F, i and U+0131).  Data: Unicode 14.0, as in Python 3.11.  PCRE2 draws some classes
// otherwise, so its own caseless matching cannot stand in for this one.
#ifndef TESSERA_REGEX_PYTHON_CASE_H_
#define TESSERA_REGEX_PYTHON_CASE_H_

#include "tessera/regex/code_point_set.h"

namespace tessera::regex {

// Adds to `set` the characters of [low, high] and all that differ from one of them by case only.
void AddCaseVariants(char32_t low, char32_t high, CodePointSet& set);

// Whether `c` is a capital letter above U+FFFF.
bool IsAstralCapital(char32_t c);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_CASE_H_
