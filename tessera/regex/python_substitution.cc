#include "tessera/regex/python_substitution.h"

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/regex/pcre2_program.h"
#include "tessera/regex/python_regex_references.h"
#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {
namespace {

constexpr size_t kLongestResult = size_t{1} << 20;

std::vector<uint32_t> GroupsOf(const std::vector<TemplatePiece>& pieces) {
  std::vector<uint32_t> groups;
  for (const TemplatePiece& piece : pieces) {
    const auto* group = std::get_if<uint32_t>(&piece);
    if (group != nullptr && *group > 0) groups.push_back(*group);
  }
  return groups;
}

}  // namespace

absl::StatusOr<PythonSubstitution> PythonSubstitution::Compile(std::string_view pattern,
                                                               std::string_view replacement) {
  TESSERA_ASSIGN_OR_RETURN(const RegexSyntax syntax, ParsePythonRegex(pattern));
  TESSERA_ASSIGN_OR_RETURN(std::vector<TemplatePiece> pieces,
                           ParsePythonTemplate(replacement, syntax));
  if (const auto unsafe = FindUnsafeGroup(syntax, GroupsOf(pieces))) {
    return InvalidArgument("replacement ", Quoted(replacement), ": group ", unsafe->group, " of ",
                           Quoted(pattern), " ", unsafe->reason, ", which is not supported");
  }
  TESSERA_ASSIGN_OR_RETURN(auto program, Pcre2Program::Compile(pattern, syntax));
  return PythonSubstitution(std::move(program), std::move(pieces));
}

absl::StatusOr<std::string> PythonSubstitution::Apply(std::string_view subject) const {
  TESSERA_RETURN_IF_ERROR(CheckRegexSubject(subject));
  std::string result;
  size_t copied = 0;  // of the subject
  size_t start = 0;
  bool must_advance = false;
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(const auto spans, program_->Match(subject, start, must_advance));
    if (spans.empty()) break;
    const TextSpan match = *spans[0];
    result += subject.substr(copied, match.begin - copied);
    for (const TemplatePiece& piece : pieces_) {
      if (const auto* text = std::get_if<std::string>(&piece)) {
        result += *text;
      } else if (const auto& group = spans[std::get<uint32_t>(piece)]; group.has_value()) {
        result += subject.substr(group->begin, group->end - group->begin);
      }
    }
    if (result.size() > kLongestResult) {
      return ResourceExhausted("pattern ", Quoted(program_->pattern()), ": the result for ",
                               Quoted(subject), " has more than ", kLongestResult, " bytes");
    }
    copied = start = match.end;
    must_advance = match.begin == match.end;
  }
  result += subject.substr(copied);
  return result;
}

}  // namespace tessera::regex
