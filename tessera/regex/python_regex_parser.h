// The parser behind ParsePythonRegex.  Its parts lie in three sources: sequences and repeats,
// groups and flags, escapes and sets.
#ifndef TESSERA_REGEX_PYTHON_REGEX_PARSER_H_
#define TESSERA_REGEX_PYTHON_REGEX_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/regex/python_regex_cursor.h"
#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

class PythonRegexParser {
 public:
  explicit PythonRegexParser(RegexCursor cursor) : cursor_(std::move(cursor)) {}

  absl::StatusOr<RegexSyntax> Parse();

 private:
  // Flags a, i, m, s, u, x, and t, which forbids repeats.
  struct Flags {
    bool ascii = false;
    bool ignore_case = false;
    bool multiline = false;
    bool dot_all = false;
    bool unicode = false;
    bool verbose = false;
    bool no_repeats = false;
  };
  // What holds for the sequence being parsed.
  struct Scope {
    Flags flags;
    int depth = 0;
    bool takes_global_flags = false;
  };
  // An opened capturing group; its width is known once it is closed.
  struct Capture {
    std::optional<RegexWidth> width;
  };
  struct Space {
    bool negated = false;
  };
  // What an escape in a set stands for.
  using ClassItem = std::variant<char32_t, RegexCategory, Space>;

  // Sequences and repeats.
  absl::StatusOr<std::vector<RegexSequence>> ParseAlternatives(Scope& scope);
  absl::StatusOr<RegexSequence> ParseSequence(Scope& scope);
  bool SkipsInVerbose(const RegexToken& token);
  absl::Status ParseItem(const RegexToken& token, Scope& scope, RegexSequence& sequence);
  void AddAnchor(RegexAnchor::Kind kind, const Scope& scope, RegexSequence& sequence);
  absl::Status ParseCounter(const Scope& scope, RegexSequence& sequence);
  absl::Status ParseRepeat(uint32_t min, uint32_t max, size_t start, const Scope& scope,
                           RegexSequence& sequence);
  absl::StatusOr<uint32_t> CounterValue(const std::u32string& digits, size_t start) const;
  absl::Status CheckAtEnd() const;

  // Groups and flags.
  absl::Status ParseGroup(Scope& scope, RegexSequence& sequence);
  absl::Status ParseExtension(size_t start, Scope& scope, RegexSequence& sequence);
  absl::Status ParsePythonExtension(size_t start, const Scope& scope, RegexSequence& sequence);
  absl::Status ParseComment(size_t start);
  absl::Status ParseCapture(size_t start, const Scope& scope, const std::string& name,
                            size_t name_start, RegexSequence& sequence);
  absl::Status ParsePlainGroup(size_t start, const Scope& scope, RegexGroup::Kind kind,
                               RegexSequence& sequence);
  absl::Status ParseLook(size_t start, const Scope& scope, bool negated, RegexSequence& sequence);
  absl::Status ParseLookBehind(size_t start, const Scope& scope, RegexSequence& sequence);
  absl::Status ParseConditional(size_t start, const Scope& scope, RegexSequence& sequence);
  absl::StatusOr<uint32_t> ParseConditionGroup();
  absl::Status ParseFlags(RegexToken token, size_t start, Scope& scope, RegexSequence& sequence);
  static Flags Combined(Flags flags, const std::string& on, const std::string& off, bool scoped);
  absl::StatusOr<RegexToken> ParseFlagsOn(RegexToken token, std::string& letters);
  absl::StatusOr<std::string> ParseFlagsOff();
  absl::StatusOr<std::string> ParseGroupName(char terminator);
  absl::StatusOr<Scope> Nested(const Scope& scope, size_t start) const;
  absl::Status CloseGroup(size_t start);

  // References to groups.
  absl::Status AddReference(uint32_t group, size_t start, const Scope& scope,
                            RegexSequence& sequence);
  absl::Status CheckLookBehindReference(uint32_t group) const;
  bool IsClosed(uint32_t group) const;

  // Escapes and sets.
  absl::Status ParseEscape(const RegexToken& token, const Scope& scope, RegexSequence& sequence);
  absl::Status ParseDigitEscape(const RegexToken& token, const Scope& scope,
                                RegexSequence& sequence);
  absl::StatusOr<char32_t> ParseCodedCharacter(const RegexToken& token, size_t start);
  absl::StatusOr<char32_t> ParseHex(size_t digits, size_t start);
  absl::StatusOr<char32_t> ParseNamedCharacter(size_t start);
  absl::StatusOr<char32_t> OctalValue(size_t start);
  absl::Status ParseSet(const Scope& scope, RegexSequence& sequence);
  absl::StatusOr<ClassItem> ParseSetItem(const RegexToken& token);
  absl::Status ParseSetRange(const ClassItem& low, size_t item_start, size_t set_start,
                             const Scope& scope, RegexCharClass& set, bool& closed);
  absl::Status AddToSet(const ClassItem& item, const Scope& scope, RegexCharClass& set) const;
  absl::Status AddRangeToSet(char32_t low, char32_t high, const Scope& scope,
                             RegexCharClass& set) const;
  absl::Status AddLiteral(char32_t c, const Scope& scope, RegexSequence& sequence) const;

  RegexCursor cursor_;
  RegexSyntax syntax_;
  std::vector<Capture> captures_{1};  // by number; 0 is the whole pattern
  std::map<std::string, uint32_t> names_;
  std::map<uint32_t, size_t> condition_positions_;            // where each group is first asked for
  std::optional<uint32_t> look_behind_first_capture_;         // set inside a look-behind
  std::optional<std::pair<size_t, std::string>> late_error_;  // holds if nothing else is wrong
};

// The width of a sequence: the sum of its nodes'.
RegexWidth WidthOf(const RegexSequence& sequence);

// The width of a choice: the least and the greatest of its alternatives'.
RegexWidth WidthOf(const std::vector<RegexSequence>& alternatives);

// Products and sums that stop at the greatest value.
uint64_t SaturatingAdd(uint64_t a, uint64_t b);
uint64_t SaturatingMultiply(uint64_t a, uint64_t b);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_PYTHON_REGEX_PARSER_H_
