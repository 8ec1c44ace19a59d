// The syntax tree of a Python 3.11 regular expression.
//
// Flags are resolved while parsing: a cased letter under IGNORECASE is already the class of its
// variants, `.` knows whether it takes newlines, verbose white space is gone.
#ifndef TESSERA_REGEX_PYTHON_REGEX_SYNTAX_H_
#define TESSERA_REGEX_PYTHON_REGEX_SYNTAX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/regex/code_point_set.h"

namespace tessera::regex {

struct RegexNode;
using RegexSequence = std::vector<RegexNode>;

// Exactly this character, which is no surrogate.
struct RegexLiteral {
  char32_t code_point = 0;
};

struct RegexAnyChar {
  bool newline_too = false;
};

// \d, \D, \w and \W of Unicode.  Their ASCII forms, \s and \S are plain code point sets.
enum class RegexCategory { kDigit, kNotDigit, kWord, kNotWord };

// One character that is in `members` or in a category; negated: one that is in none.
struct RegexCharClass {
  bool negated = false;
  CodePointSet members;
  std::vector<RegexCategory> categories;
};

// Matches between two characters.
struct RegexAnchor {
  enum class Kind {
    kTextStart,             // \A, and ^ without MULTILINE
    kTextEnd,               // \Z
    kTextEndOrLastNewline,  // $ without MULTILINE
    kLineStart,
    kLineEnd,
    kWordBoundary,
    kNotWordBoundary,
  };
  Kind kind;
  bool ascii = false;  // of the word boundaries
};

struct RegexGroup {
  enum class Kind { kPlain, kCapture, kAtomic };
  Kind kind = Kind::kPlain;
  std::vector<RegexSequence> alternatives;
};

// (?=...) (?!...) (?<=...) (?<!...)
struct RegexLook {
  bool behind = false;
  bool negated = false;
  std::vector<RegexSequence> alternatives;
};

struct RegexRepeat {
  enum class Mode { kGreedy, kLazy, kPossessive };
  static constexpr uint32_t kUnlimited = UINT32_MAX;
  uint32_t min = 0;
  uint32_t max = kUnlimited;
  Mode mode = Mode::kGreedy;
  RegexSequence body;  // exactly one node
};

struct RegexBackreference {
  uint32_t group = 0;
  bool ignore_case = false;
  size_t position = 0;  // in the pattern, in code points
};

// (?(group)yes|no); without `no`, nothing is asked when the group is unset.
struct RegexConditional {
  uint32_t group = 0;
  RegexSequence yes;
  std::optional<RegexSequence> no;
  size_t position = 0;  // in the pattern, in code points
};

// How many characters a node can match.  `max` saturates.
struct RegexWidth {
  uint64_t min = 0;
  uint64_t max = 0;
};

struct RegexNode {
  std::variant<RegexLiteral, RegexAnyChar, RegexCharClass, RegexAnchor, RegexGroup, RegexLook,
               RegexRepeat, RegexBackreference, RegexConditional>
      value;
  RegexWidth width;
};

struct RegexSyntax {
  std::vector<RegexSequence> alternatives;
  bool has_references = false;          // a backreference or a conditional
  bool has_caseless_reference = false;  // a backreference under IGNORECASE
  bool has_atomic = false;              // an atomic group or a possessive repeat
  bool has_look = false;                // lookaround, or an anchor that is written with it
  uint32_t group_count = 0;             // capturing groups, numbered from 1
  std::map<std::string, uint32_t> group_names = {};
};

// Reads `pattern`.  InvalidArgument with the pattern, the position in code points and what is
// wrong, for whatever Python's `re` refuses and for what is listed in python_regex.h.
absl::StatusOr<RegexSyntax> ParsePythonRegex(std::string_view pattern);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_SYNTAX_H_
