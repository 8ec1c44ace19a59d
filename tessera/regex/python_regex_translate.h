// Writes the syntax tree of a Python regular expression in PCRE2's syntax.
#ifndef TESSERA_REGEX_PYTHON_REGEX_TRANSLATE_H_
#define TESSERA_REGEX_PYTHON_REGEX_TRANSLATE_H_

#include <string>

#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

// The pattern for PCRE2, to be compiled with PCRE2_UTF, newline LF and no other option.  Only
// constructs whose meaning is the same in every version since 10.32 are used: \b, \w, \s, \d and
// caseless letters are spelled out.
std::string TranslateToPcre2(const RegexSyntax& syntax);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_TRANSLATE_H_
