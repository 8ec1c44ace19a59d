#include "tessera/cli/man_page.h"

#include <cstdint>

#include <fmt/format.h>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

// Letters that roff would turn into other ones, as those that are typed.
std::string_view Glyph(char32_t c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    case '"':
      return "\\(dq";
    default:
      return "";
  }
}

// A line of text: nothing in it is taken for a request.
std::string Escaped(std::string_view text) {
  std::string escaped = text.starts_with('.') ? "\\&" : "";
  for (const char32_t c : DecodeUtf8(text)) {
    if (const std::string_view glyph = Glyph(c); !glyph.empty()) {
      escaped += glyph;
    } else if (c >= 0x80) {
      escaped += fmt::format("\\[u{:04X}]", static_cast<uint32_t>(c));
    } else {
      escaped += static_cast<char>(c);
    }
  }
  return escaped;
}

// Paragraphs that blank lines part.
std::string Paragraphs(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = text.find("\n\n");
    std::string line;
    for (const char c : text.substr(0, end)) line += c == '\n' ? ' ' : c;
    result += Concat(".PP\n", Escaped(line), "\n");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
  return result;
}

// A term in bold, its value in italics, and what it means.
std::string Term(std::string_view name, std::string_view value, std::string_view meaning) {
  const std::string shown = value.empty() ? "" : Concat(" \\fI", Escaped(value), "\\fR");
  return Concat(".TP\n\\fB", Escaped(name), "\\fR", shown, "\n", Escaped(meaning), "\n");
}

std::string OptionTerm(const Option& option) {
  const std::string letter = option.letter != 0 ? Concat("-", option.letter, ", ") : "";
  std::string meaning(option.help);
  if (option.repeats) meaning += " (may be given several times)";
  for (size_t i = 0; i < option.choices.size(); ++i) {
    meaning += Concat(i == 0 ? ": " : ", ", option.choices[i]);
  }
  return Term(Concat(letter, option.name), option.value, meaning);
}

std::string Synopsis(const Verb& verb) {
  std::string text = Concat("\\fBtessera ", Escaped(verb.name), "\\fR");
  for (const Positional& positional : verb.positionals) {
    text += Concat(" \\fI", Escaped(positional.name), "\\fR");
  }
  for (const Option& option : verb.options) {
    text += Concat(" [\\fB", Escaped(option.name), "\\fR");
    if (!option.value.empty()) text += Concat(" \\fI", Escaped(option.value), "\\fR");
    text += option.repeats ? "]..." : "]";
  }
  return text;
}

std::string VerbSection(const Verb& verb) {
  std::string text = Concat(".SS ", Escaped(verb.name), "\n", Synopsis(verb), "\n");
  text += Paragraphs(verb.summary);
  text += Paragraphs(verb.details);
  for (const Positional& positional : verb.positionals) {
    text += Term(positional.name, "", positional.help);
  }
  for (const Option& option : verb.options) text += OptionTerm(option);
  for (const Example& example : verb.examples) {
    text += Concat(".PP\nExample: ", Escaped(example.tells), "\n.PP\n.nf\n.RS 4\n",
                   Escaped(example.command), "\n.RE\n.fi\n");
  }
  return text;
}

std::string Head(std::string_view version) {
  return Concat(
      ".TH TESSERA 1 \"\" \"tessera ", version, "\" \"User Commands\"\n.nh\n.ad l\n",
      ".SH NAME\ntessera \\- looks into checkpoints of model state and changes their form\n",
      ".SH SYNOPSIS\n\\fBtessera\\fR \\fIVERB\\fR ... [\\fB\\-\\-json\\fR] [\\fB\\-\\-quiet\\fR] ",
      "[\\fB\\-\\-help\\fR]\n.SH DESCRIPTION\n",
      Escaped("A checkpoint is a folder or a file, of tensorstore, zarr or safetensors; which one "
              "is found out. Keys of arrays are the dotted paths of their leaves. Sizes are "
              "written as 512KiB, 4GiB, 5GB, or plain bytes; meshes as dp=2,tp=4. Text goes to "
              "standard output, with colours only on a terminal; progress and errors go to "
              "standard error."),
      "\n");
}

std::string Tail() {
  std::string text = ".SH EXIT STATUS\n";
  text += Term("0", "", "fine");
  text += Term("1", "", "the answer is 'different', 'damaged' or 'over budget'");
  text += Term("2", "", "could not do it: bad usage, bad input, input or output failed");
  text += ".SH ENVIRONMENT\n";
  text += Term("TESSERA_THREADS", "", "how many threads work; as many as cores without it");
  text += Term("TESSERA_MEMORY", "", "a size: the memory to use beside results; 1GiB without it");
  text += Term("TESSERA_LOG", "", "what is logged: debug, info, warning, error or off");
  text += Term("NO_COLOR", "", "when it is not empty, no colours");
  text += Term("COLUMNS", "", "the width of the terminal, where that is not to be asked");
  text += Term("LC_ALL, LC_CTYPE, LANG", "",
               "the character set of the output: ASCII, with others escaped, unless it is UTF-8");
  return text;
}

}  // namespace

std::string ManPage(std::span<const Verb> verbs, std::string_view version) {
  std::string text = Concat(Head(version), ".SH OPTIONS\nEvery verb has these.\n");
  for (const Option& option : CommonOptions()) text += OptionTerm(option);
  text += ".SH VERBS\n";
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) text += VerbSection(verb);
  }
  return text + Tail();
}

}  // namespace tessera::cli
