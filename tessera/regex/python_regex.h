// Python regular expressions with the meaning of re.search, matched by PCRE2.
//
// A pattern is parsed as Python 3.11 parses it and written anew for PCRE2, so that one whose
// meaning differs there is either translated or refused.  Refused, though Python takes them:
//   - counters above 65535, groups nested deeper than 250, and what PCRE2 finds too large;
//   - names in \N{...} that are not in python_char_names.h;
//   - under flag i, capital letters and ranges that reach above U+FFFF, where Python's own sets
//     and letters disagree;
//   - references to groups whose text the engines do not agree on (python_regex_references.h),
//     and group numbers that are not written in ASCII digits.
// \w and \d know the letters and digits of PCRE2's Unicode tables (14.0 in 10.42, as in
// Python 3.11); what \s and flag i take is fixed to Python 3.11.
#ifndef TESSERA_REGEX_PYTHON_REGEX_H_
#define TESSERA_REGEX_PYTHON_REGEX_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera::regex {

class Pcre2Program;

// A compiled pattern.  Immutable; copies share it, and threads may search with it at once.
class PythonRegex {
 public:
  // InvalidArgument with the pattern, the position in code points and what is wrong there.
  static absl::StatusOr<PythonRegex> Compile(std::string_view pattern);

  // Whether the pattern matches anywhere in `subject`.  Errors are those of CheckSubject;
  // ResourceExhausted if the pattern backtracks too much; Unimplemented for a backreference under
  // flag i and a subject beyond ASCII, where PCRE2 compares letters otherwise than Python.
  absl::StatusOr<bool> Search(std::string_view subject) const;

  // What every pattern asks of a subject: InvalidArgument unless it is UTF-8, ResourceExhausted
  // if it is longer than 16384 bytes.
  static absl::Status CheckSubject(std::string_view subject);

  const std::string& pattern() const;

 private:
  explicit PythonRegex(std::shared_ptr<const Pcre2Program> program)
      : program_(std::move(program)) {}

  std::shared_ptr<const Pcre2Program> program_;
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_H_
