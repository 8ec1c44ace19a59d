#include "tessera/regex/python_regex.h"

#include <utility>

#include "tessera/core/status.h"
#include "tessera/regex/pcre2_program.h"
#include "tessera/regex/python_regex_syntax.h"
#include "tessera/regex/python_regex_trim.h"

namespace tessera::regex {

absl::StatusOr<PythonRegex> PythonRegex::Compile(std::string_view pattern) {
  TESSERA_ASSIGN_OR_RETURN(RegexSyntax syntax, ParsePythonRegex(pattern));
  // Without it, a leading .* is tried anew from every start.
  TESSERA_ASSIGN_OR_RETURN(auto program,
                           Pcre2Program::Compile(pattern, TrimForSearch(std::move(syntax))));
  return PythonRegex(std::move(program));
}

absl::Status PythonRegex::CheckSubject(std::string_view subject) {
  return CheckRegexSubject(subject);
}

absl::StatusOr<bool> PythonRegex::Search(std::string_view subject) const {
  return program_->Search(subject);
}

const std::string& PythonRegex::pattern() const { return program_->pattern(); }

}  // namespace tessera::regex
