#include "tessera/cli/wrap.h"

#include <algorithm>
#include <vector>

#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

constexpr size_t kWidest = 100;

std::vector<std::string> WordsOfCommand(std::string_view command) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : command) {
    if (c == ' ' && quote == 0) {
      words.emplace_back();
      continue;
    }
    words.back() += c;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return words;
}

}  // namespace

size_t ParagraphWidth(const Terminal& terminal) {
  if (terminal.columns <= 0) return kWidest;
  return std::min(kWidest, static_cast<size_t>(terminal.columns));
}

std::string Wrapped(std::string_view text, size_t indent, size_t width) {
  std::string result, line;
  const auto end_line = [&] {
    if (!line.empty()) result += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    const bool paragraph = end != std::string_view::npos && text.substr(end).starts_with("\n\n");
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) end_line();
    if (!word.empty()) line += Concat(line.empty() ? "" : " ", word);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + (paragraph ? 2 : 1));
    if (paragraph) {
      end_line();
      result += "\n";
    }
  }
  end_line();
  return result;
}

std::string WrappedCommand(std::string_view command, size_t indent, size_t width) {
  constexpr size_t kMore = 4;  // further in than the first line
  constexpr size_t kBackslash = 2;
  std::string result, line(indent, ' ');
  bool is_first = true;
  for (const std::string& word : WordsOfCommand(command)) {
    if (!is_first && line.size() + 1 + word.size() + kBackslash > width) {
      result += line + " \\\n";
      line = std::string(indent + kMore, ' ') + word;
    } else {
      line += Concat(is_first ? "" : " ", word);
    }
    is_first = false;
  }
  // The last word has room for what would have been the backslash.
  return result + line + "\n";
}

}  // namespace tessera::cli
