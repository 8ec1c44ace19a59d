#include "tessera/cli/help.h"

#include <algorithm>

#include "tessera/cli/table.h"
#include "tessera/cli/wrap.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

std::string OptionText(const Option& option) {
  std::string text = option.letter != 0 ? Concat("-", option.letter, ", ") : "";
  text += option.name;
  if (!option.value.empty()) text += Concat(" ", option.value);
  return text;
}

// A name and what it means, the meaning wrapped beside it or, on narrow terminals, below it.
void AddTerm(std::string_view name, std::string_view meaning, size_t column, size_t width,
             std::string& text) {
  const bool beside = column + 30 <= width;
  const size_t indent = beside ? column : 6;
  std::string block = Wrapped(meaning, indent, width);
  if (beside && name.size() + 4 <= column) {
    text += Concat("  ", name, std::string(column - 2 - name.size(), ' '));
    text += block.size() > indent ? block.substr(indent) : "\n";
  } else {
    text += Concat("  ", name, "\n", block);
  }
}

}  // namespace

std::string UsageLine(const Verb& verb) {
  std::string text = Concat("tessera ", verb.name);
  for (const Positional& positional : verb.positionals) text += Concat(" ", positional.name);
  for (const Option& option : verb.options) {
    text += Concat(" [", option.name, option.value.empty() ? "" : " ", option.value, "]");
    if (option.repeats) text += "...";
  }
  return text;
}

std::string Overview(std::span<const Verb> verbs, const Terminal& terminal) {
  const size_t width = ParagraphWidth(terminal);
  std::string text = Wrapped(
      "tessera looks into checkpoints of model state, trusts them or not, plans for them "
      "and changes their form. A checkpoint is a folder or a file, of tensorstore, zarr "
      "or safetensors; which one is found out.",
      0, width);
  // Painted after it was wrapped, as colours take no room.
  const std::string usage =
      Wrapped("usage: tessera VERB ... [--json] [--quiet] [--help]", 0, width);
  text += Concat("\n", terminal.Bold("usage:"), usage.substr(usage.find(' ')), "\n");
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) AddTerm(verb.name, verb.summary, 14, width, text);
  }
  text += "\n";
  text += Wrapped(
      "tessera VERB --help tells the options of a verb, with examples. Exit codes: 0 "
      "fine; 1 the answer is 'different', 'damaged' or 'over budget'; 2 could not do "
      "it.",
      0, width);
  return text;
}

std::string HelpText(const Verb& verb, const Terminal& terminal) {
  const size_t width = ParagraphWidth(terminal);
  std::string text = Wrapped(Concat("tessera ", verb.name, ": ", verb.summary), 0, width) + "\n";
  text += Concat(terminal.Bold("usage:"), "\n", Wrapped(UsageLine(verb), 2, width));
  if (!verb.details.empty()) text += Concat("\n", Wrapped(verb.details, 0, width));
  text += "\n";
  for (const Positional& positional : verb.positionals) {
    AddTerm(positional.name, positional.help, 24, width, text);
  }
  for (const auto* list : {&verb.options, &CommonOptions()}) {
    for (const Option& option : *list) AddTerm(OptionText(option), option.help, 24, width, text);
  }
  text += Concat("\n", terminal.Bold(verb.examples.size() == 1 ? "example:" : "examples:"), "\n");
  for (const Example& example : verb.examples) {
    text += WrappedCommand(example.command, 2, width) + Wrapped(example.tells, 6, width);
  }
  return text;
}

}  // namespace tessera::cli
