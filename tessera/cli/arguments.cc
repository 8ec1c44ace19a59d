#include "tessera/cli/arguments.h"

#include <algorithm>

#include "tessera/core/environment.h"
#include "tessera/core/nearest.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

std::string Usage(const Verb& verb) {
  std::string text = Concat("tessera ", verb.name);
  for (const Positional& positional : verb.positionals) text += Concat(" ", positional.name);
  return text;
}

std::string SeeHelp(const Verb& verb) { return Concat("; see tessera ", verb.name, " --help"); }

absl::Status UnknownOption(const Verb& verb, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : verb.options) known.push_back(option.name);
  for (const Option& option : CommonOptions()) known.push_back(option.name);
  const std::string meant = DidYouMean(name, known);
  return InvalidArgument("tessera ", verb.name, " has no option ", Quoted(name),
                         meant.empty() ? SeeHelp(verb) : meant);
}

bool LooksLikeOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

// An option as written: its name, and the value after '='.
struct Written {
  std::string_view name;
  std::optional<std::string_view> value;
};

Written Split(std::string_view word) {
  const size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
  if (equals == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

absl::Status CheckPositionals(const Verb& verb, const std::vector<std::string>& found) {
  if (found.size() < verb.positionals.size()) {
    return InvalidArgument("tessera ", verb.name, " needs ", verb.positionals[found.size()].name,
                           ": ", Usage(verb), SeeHelp(verb));
  }
  if (found.size() > verb.positionals.size()) {
    return InvalidArgument("tessera ", verb.name, " takes ", Usage(verb), " and no ",
                           Quoted(found[verb.positionals.size()]), SeeHelp(verb));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) return InvalidArgument(verb.positionals[i].name, " is empty");
  }
  return absl::OkStatus();
}

absl::Status CheckChoice(const Option& option, const std::string& value) {
  const auto& choices = option.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) {
    return absl::OkStatus();
  }
  std::string known;
  for (std::string_view choice : choices) known += Concat(known.empty() ? "" : ", ", choice);
  return InvalidArgument(option.name, " ", Quoted(value), ": expected one of ", known,
                         DidYouMean(value, choices));
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(const Verb& verb, std::span<const std::string> words) {
  Arguments result;
  bool options_end = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!options_end && words[i] == "--") {
      options_end = true;
      continue;
    }
    if (options_end || !LooksLikeOption(words[i])) {
      result.positionals_.push_back(words[i]);
      continue;
    }
    const Written written = Split(words[i]);
    const Option* option = FindOption(verb, written.name);
    if (option == nullptr) return UnknownOption(verb, written.name);
    std::vector<std::string>& values = result.values_[std::string(option->name)];
    if (!values.empty() && !option->repeats && !option->value.empty()) {
      return InvalidArgument(option->name, " is given twice");
    }
    if (option->value.empty()) {
      if (written.value) return InvalidArgument(option->name, " is a flag and takes no value");
      values.assign(1, "");
    } else if (written.value) {
      values.emplace_back(*written.value);
    } else if (i + 1 < words.size()) {
      values.push_back(words[++i]);
    } else {
      return InvalidArgument(option->name, " needs a value, ", option->value, SeeHelp(verb));
    }
    if (!option->value.empty()) TESSERA_RETURN_IF_ERROR(CheckChoice(*option, values.back()));
  }
  if (!result.help()) TESSERA_RETURN_IF_ERROR(CheckPositionals(verb, result.positionals_));
  return result;
}

std::optional<std::string> Arguments::Text(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::Texts(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

absl::StatusOr<std::optional<int64_t>> Arguments::Size(std::string_view option) const {
  const std::optional<std::string> text = Text(option);
  if (!text) return std::nullopt;
  const absl::StatusOr<int64_t> size = ParseSize(*text);
  if (!size.ok()) return Prefixed(size.status(), option);
  return *size;
}

absl::StatusOr<std::optional<int64_t>> Arguments::Count(std::string_view option,
                                                        int64_t least) const {
  const std::optional<std::string> text = Text(option);
  if (!text) return std::nullopt;
  const absl::StatusOr<int64_t> count = ParseInteger(*text);
  if (!count.ok() || *count < least) {
    return InvalidArgument(option, " ", Quoted(*text), ": expected a number from ", least, " up");
  }
  return *count;
}

}  // namespace tessera::cli
