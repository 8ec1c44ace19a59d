#include "tessera/mesh/pattern_spec.h"

#include <string>

#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"

namespace tessera::mesh {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The parts between separators.  A backslash takes the next character along, separator or not.
std::vector<std::string_view> SplitUnescaped(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == separator) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Turns "\," and "\|" into the plain characters; every other escape belongs to the expression.
std::string UnescapeSeparators(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      const bool separator = text[i + 1] == ',' || text[i + 1] == '|';
      if (!separator) result += text[i];
      result += text[++i];
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

SpecEntry ParseEntry(std::string_view text) {
  const std::string_view name = Trim(text);
  if (name.empty() || name == "None" || name == "null" || name == "*") return SpecEntry();
  std::vector<std::string> axes;
  for (std::string_view axis : Split(name, '+')) axes.emplace_back(Trim(axis));
  std::erase(axes, "");
  return SpecEntry(std::move(axes));
}

PartitionSpec ParseAxes(std::string_view text) {
  std::vector<SpecEntry> entries;
  for (std::string_view part : Split(text, '.')) entries.push_back(ParseEntry(part));
  return PartitionSpec(std::move(entries));
}

}  // namespace

class PatternParser {
 public:
  PatternParser(std::string_view text, const PatternSpecOptions& options)
      : text_(text), options_(options) {
    result_.default_spec_ = options.default_spec;
  }

  absl::StatusOr<PatternPartitionSpec> Parse() && {
    for (std::string_view piece : SplitUnescaped(text_, ',')) {
      TESSERA_RETURN_IF_ERROR(AddPiece(piece));
    }
    if (result_.rules_.empty() && !Trim(text_).empty()) {
      return InvalidArgument("pattern spec '", text_,
                             "': expected rules of the form "
                             "patterns->axes, found no '->'");
    }
    for (std::string_view piece : passed_over_) {
      LogWarning("pattern spec '", text_, "': '", piece, "' has no '->' and is passed over");
    }
    return std::move(result_);
  }

 private:
  absl::Status AddPiece(std::string_view piece) {
    constexpr std::string_view kArrow = "->";
    const size_t arrow = piece.find(kArrow);
    if (arrow == std::string_view::npos) {
      if (!Trim(piece).empty()) passed_over_.push_back(piece);
      return absl::OkStatus();
    }
    const std::string_view axes = piece.substr(arrow + kArrow.size());
    if (axes.find(kArrow) != std::string_view::npos) {
      return InvalidArgument("pattern spec '", text_, "': '", piece, "' has two '->'");
    }
    PatternPartitionSpec::Rule rule{{}, ParseAxes(axes)};
    for (std::string_view part : SplitUnescaped(piece.substr(0, arrow), '|')) {
      auto compiled = regex::PythonRegex::Compile(UnescapeSeparators(Trim(part)));
      if (!compiled.ok()) return Prefixed(compiled.status(), Concat("pattern spec '", text_, "'"));
      rule.patterns.push_back(*std::move(compiled));
    }
    if (options_.mesh.has_value()) {
      const auto bound = NamedSharding::Make(*options_.mesh, rule.spec);
      if (!bound.ok()) return Prefixed(bound.status(), Concat("pattern spec '", text_, "'"));
    }
    result_.rules_.push_back(std::move(rule));
    return absl::OkStatus();
  }

  std::string_view text_;
  const PatternSpecOptions& options_;
  std::vector<std::string_view> passed_over_;
  PatternPartitionSpec result_;
};

absl::StatusOr<PartitionSpec> PatternPartitionSpec::operator()(std::string_view name) const {
  for (const Rule& rule : rules_) {
    for (const regex::PythonRegex& pattern : rule.patterns) {
      TESSERA_ASSIGN_OR_RETURN(const bool found, pattern.Search(name));
      if (found) return rule.spec;
    }
  }
  return default_spec_;
}

absl::StatusOr<PatternPartitionSpec> CreatePatternBasedPartitionSpec(
    std::string_view text, const PatternSpecOptions& options) {
  return PatternParser(text, options).Parse();
}

}  // namespace tessera::mesh
