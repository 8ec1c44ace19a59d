// Python's re.sub: every match of a pattern is replaced.
#ifndef TESSERA_REGEX_PYTHON_SUBSTITUTION_H_
#define TESSERA_REGEX_PYTHON_SUBSTITUTION_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/regex/python_template.h"

namespace tessera::regex {

class Pcre2Program;

// A pattern and its replacement.  Immutable; copies share the pattern.
class PythonSubstitution {
 public:
  // Errors of PythonRegex::Compile and ParsePythonTemplate; InvalidArgument for a replacement that
  // asks for a group whose text the engines do not agree on (python_regex_references.h).
  static absl::StatusOr<PythonSubstitution> Compile(std::string_view pattern,
                                                    std::string_view replacement);

  // What re.sub(pattern, replacement, subject) returns in Python 3.7 and later.  Errors of
  // PythonRegex::Search; ResourceExhausted when the result has more than a mebibyte.
  absl::StatusOr<std::string> Apply(std::string_view subject) const;

 private:
  PythonSubstitution(std::shared_ptr<const Pcre2Program> program, std::vector<TemplatePiece> pieces)
      : program_(std::move(program)), pieces_(std::move(pieces)) {}

  std::shared_ptr<const Pcre2Program> program_;
  std::vector<TemplatePiece> pieces_;
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_SUBSTITUTION_H_
