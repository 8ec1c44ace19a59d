// Pcre2Program: a parsed Python pattern, compiled and matched by PCRE2.
#ifndef TESSERA_REGEX_PCRE2_PROGRAM_H_
#define TESSERA_REGEX_PCRE2_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

// Bytes [begin, end) of a subject.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;
};

// What every pattern asks of a subject: InvalidArgument unless it is UTF-8, ResourceExhausted if it
// is longer than 16384 bytes.
absl::Status CheckRegexSubject(std::string_view subject);

// Immutable; threads may match with it at once.
class Pcre2Program {
 public:
  // InvalidArgument for what PCRE2 does not take.  `pattern` is what messages call it.
  static absl::StatusOr<std::shared_ptr<const Pcre2Program>> Compile(std::string_view pattern,
                                                                     const RegexSyntax& syntax);
  ~Pcre2Program();

  const std::string& pattern() const { return pattern_; }

  // Whether there is a match.  Errors as PythonRegex::Search.
  absl::StatusOr<bool> Search(std::string_view subject) const;

  // The first match from `start` on: the whole of it, then each group, nullopt where it took no
  // part.  No elements: there is none.  With `must_advance` a match at `start` is not empty.
  // REQUIRES: CheckRegexSubject(subject) is OK, and start <= subject.size().
  absl::StatusOr<std::vector<std::optional<TextSpan>>> Match(std::string_view subject, size_t start,
                                                             bool must_advance) const;

 private:
  struct Code;
  Pcre2Program();

  absl::Status CheckReferences(std::string_view subject) const;
  absl::Status GaveUp(std::string_view subject, int error) const;

  std::string pattern_;
  std::unique_ptr<Code> code_;
  bool compiled_by_jit_ = false;
  bool has_caseless_reference_ = false;
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PCRE2_PROGRAM_H_
