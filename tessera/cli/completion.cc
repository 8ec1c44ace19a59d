#include "tessera/cli/completion.h"

#include <algorithm>

#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

constexpr size_t kFewKeys = 40;
constexpr std::string_view kKey = "KEY";

// Letters that mean nothing to a shell, nor split words for its completion.
bool IsPlain(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/+@%,").find(c) != std::string_view::npos;
  });
}

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += Concat(text.empty() ? "" : " ", word);
  return text;
}

std::vector<std::string_view> VerbNames(std::span<const Verb> verbs) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) names.push_back(verb.name);
  }
  return names;
}

std::vector<Option> OptionsOf(const Verb& verb) {
  std::vector<Option> options = verb.options;
  for (const Option& option : CommonOptions()) options.push_back(option);
  return options;
}

// --- bash ---

// What completes a value, as a command of the script.
std::string BashAction(std::string_view name, bool is_path,
                       std::span<const std::string_view> choices) {
  if (!choices.empty()) return Concat("_tessera_words '", Joined(choices), "'");
  if (is_path) return "_tessera_files";
  return name == kKey ? "_tessera_keys" : ":";
}

std::string BashVerb(const Verb& verb) {
  std::string flags, with_value, values, positionals;
  for (const Option& option : OptionsOf(verb)) {
    const std::string letter = option.letter != 0 ? Concat("-", option.letter) : "";
    flags += Concat(flags.empty() ? "" : " ", option.name, letter.empty() ? "" : " ", letter);
    if (option.value.empty()) continue;
    const std::string pattern = Concat(option.name, letter.empty() ? "" : "|", letter);
    with_value += Concat(with_value.empty() ? "" : "|", pattern);
    values += Concat("        ", pattern, ") ",
                     BashAction(option.value, option.is_path, option.choices), " ;;\n");
  }
  for (size_t i = 0; i < verb.positionals.size(); ++i) {
    const Positional& positional = verb.positionals[i];
    positionals +=
        Concat("        ", i, ") ",
               BashAction(positional.name, positional.is_path, positional.choices), " ;;\n");
  }
  return Concat("    ", verb.name, ")\n",                                             //
                "      options='", flags, "'\n",                                      //
                "      valued='", with_value.empty() ? "" : "|", with_value, "|'\n",  //
                "      _tessera_place\n",                                             //
                "      case $place in\n", values, positionals,                        //
                "        -) _tessera_words \"$options\" ;;\n",                        //
                "      esac ;;\n");
}

constexpr std::string_view kBashHead =
    R"sh(# bash completion of tessera; made by: tessera completion bash

_tessera_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_tessera_files() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

# The keys of the checkpoint that is the first word that is no option.
_tessera_keys() {
  local checkpoint=${first//\\/}
  checkpoint=${checkpoint//[\"\']/}
  checkpoint=${checkpoint/#\~\//$HOME/}
  local program=${COMP_WORDS[0]/#\~\//$HOME/}
  mapfile -t COMPREPLY < <("$program" complete-keys "--start=$current" -- "$checkpoint" 2> /dev/null)
  if [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *. ]]; then
    compopt -o nospace 2> /dev/null
  fi
}

# What is to be completed: the option whose value it is, "-" for an option, or which of the words
# that are no options.
_tessera_place() {
  local i word before=
  place=0 first=
  for ((i = 2; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    # bash splits --option=value in three.
    if [[ $word == '=' && -n $before ]]; then
      continue
    elif [[ -n $before ]]; then
      before=
    elif [[ $word == -* && $valued == *"|$word|"* ]]; then
      before=$word
    elif [[ $word != -* ]]; then
      [[ $place == 0 ]] && first=$word
      ((place++))
    fi
  done
  if [[ -n $before ]]; then
    place=$before
    [[ $current == '=' ]] && current=
  elif [[ $current == -* ]]; then
    place=-
  fi
}

_tessera() {
  local current=${COMP_WORDS[COMP_CWORD]} options valued place first
  COMPREPLY=()
)sh";

// --- zsh ---

std::string ZshQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Within a description of _arguments or _describe.
std::string ZshEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ZshAction(std::string_view name, bool is_path,
                      std::span<const std::string_view> choices) {
  if (!choices.empty()) return Concat("(", Joined(choices), ")");
  if (is_path) return "_files";
  return name == kKey ? "_tessera_keys" : " ";
}

// "(-o --output)--output=[help]:FILE:_files".
std::string ZshOption(const Option& option, std::string_view spelled, std::string_view ending) {
  const std::string letter = option.letter != 0 ? Concat("-", option.letter, " ") : "";
  std::string spec = option.repeats ? "*" : Concat("(", letter, option.name, ")");
  spec += Concat(spelled, option.value.empty() ? "" : ending, "[", ZshEscaped(option.help), "]");
  if (!option.value.empty()) {
    spec += Concat(":", ZshEscaped(option.value), ":",
                   ZshAction(option.value, option.is_path, option.choices));
  }
  return spec;
}

std::string ZshVerb(const Verb& verb) {
  std::vector<std::string> specs;
  for (const Option& option : OptionsOf(verb)) {
    specs.push_back(ZshOption(option, option.name, "="));
    if (option.letter != 0) specs.push_back(ZshOption(option, Concat("-", option.letter), "+"));
  }
  for (size_t i = 0; i < verb.positionals.size(); ++i) {
    const Positional& positional = verb.positionals[i];
    specs.push_back(Concat(i + 1, ":", ZshEscaped(positional.name), ":",
                           ZshAction(positional.name, positional.is_path, positional.choices)));
  }
  std::string text = Concat("    ", verb.name, ")\n      _arguments -s");
  for (const std::string& spec : specs) text += Concat(" \\\n        ", ZshQuoted(spec));
  return text + " ;;\n";
}

constexpr std::string_view kZshHead = R"sh(#compdef tessera
# zsh completion of tessera; made by: tessera completion zsh

# The keys of the checkpoint that is the first word that is no option.
_tessera_keys() {
  local -a keys whole parts
  local word checkpoint
  for word in "${(@)words[2,CURRENT-1]}"; do
    if [[ $word != -* ]]; then
      checkpoint=${(Q)word}
      break
    fi
  done
  checkpoint=${checkpoint/#\~\//$HOME/}
  keys=(${(f)"$($tessera_program complete-keys "--start=$PREFIX" -- "$checkpoint" 2> /dev/null)"})
  whole=(${keys:#*.})
  parts=(${(M)keys:#*.})
  (( $#whole )) && compadd -a whole
  (( $#parts )) && compadd -S '' -a parts
}

_tessera() {
  local tessera_program=${(Q)words[1]/#\~\//$HOME/}
  local -a verbs
  verbs=(
)sh";

constexpr std::string_view kZshTail = R"sh(  esac
}

# Autoloaded as a function it completes at once; sourced it only says whose completion it is.
if [[ $funcstack[1] == _tessera ]]; then
  _tessera "$@"
else
  compdef _tessera tessera
fi
)sh";

}  // namespace

std::string BashCompletion(std::span<const Verb> verbs) {
  const std::string names = Joined(VerbNames(verbs));
  std::string text(kBashHead);
  text += Concat("  if ((COMP_CWORD == 1)); then\n    _tessera_words '", names,
                 " help --help --version'\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n");
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) text += BashVerb(verb);
  }
  return text + Concat("    help) ((COMP_CWORD == 2)) && _tessera_words '", names,
                       "' ;;\n  esac\n  return 0\n}\n\ncomplete -F _tessera tessera\n");
}

std::string ZshCompletion(std::span<const Verb> verbs) {
  std::string text(kZshHead);
  for (const Verb& verb : verbs) {
    if (verb.is_hidden) continue;
    text += Concat("    ", ZshQuoted(Concat(verb.name, ":", ZshEscaped(verb.summary))), "\n");
  }
  text +=
      "    'help:what a verb does'\n  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe -t verbs verb verbs\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n";
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) text += ZshVerb(verb);
  }
  return text +
         Concat("    help) (( CURRENT == 2 )) && _describe -t verbs verb verbs ;;\n", kZshTail);
}

std::vector<std::string> CompleteKeys(std::span<const std::string_view> keys,
                                      std::string_view typed) {
  std::vector<std::string_view> fitting;
  for (const std::string_view key : keys) {
    if (key.starts_with(typed) && IsPlain(key)) fitting.push_back(key);
  }
  if (fitting.size() <= kFewKeys) return {fitting.begin(), fitting.end()};
  std::vector<std::string> parts;
  for (const std::string_view key : fitting) {
    const size_t dot = key.find('.', typed.size());
    const std::string part(key.substr(0, dot == std::string_view::npos ? dot : dot + 1));
    // Those with a part in common stand together, but for oddities of the order.
    if (std::find(parts.rbegin(), parts.rend(), part) == parts.rend()) parts.push_back(part);
  }
  return parts;
}

}  // namespace tessera::cli
