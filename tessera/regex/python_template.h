// The replacement of Python's re.sub: text with references to groups.
#ifndef TESSERA_REGEX_PYTHON_TEMPLATE_H_
#define TESSERA_REGEX_PYTHON_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

// A piece is text, or what a group captured; 0 is the whole match.
using TemplatePiece = std::variant<std::string, uint32_t>;

// Reads `text` as Python 3.11 does for the groups of `syntax`: \1 to \99, \g<1>, \g<name>, \n and
// its like, octal numbers.  InvalidArgument with the template, the position in code points and what
// is wrong there, for what Python refuses and for group numbers that are not plain digits.
absl::StatusOr<std::vector<TemplatePiece>> ParsePythonTemplate(std::string_view text,
                                                               const RegexSyntax& syntax);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_TEMPLATE_H_
