// Shortens a pattern without changing the texts in which a search finds it.
#ifndef TESSERA_REGEX_PYTHON_REGEX_TRIM_H_
#define TESSERA_REGEX_PYTHON_REGEX_TRIM_H_

#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

// Drops from both ends of each alternative what can also match nothing: .*a.* is found where a
// is.  Leaves a pattern with references alone, for they need what was captured.
RegexSyntax TrimForSearch(RegexSyntax syntax);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_TRIM_H_
