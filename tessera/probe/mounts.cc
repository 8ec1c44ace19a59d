#include "tessera/probe/mounts.h"

#include <algorithm>
#include <vector>

namespace tessera::probe {
namespace {

// Where the words of a line stand; optional words follow until a "-", then type, source, options.
constexpr size_t kFolder = 4;
constexpr size_t kOptions = 5;
constexpr size_t kWordsAfterDash = 3;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

bool IsOctal(std::string_view digits) {
  return digits.size() == 3 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}

// Spaces and the like stand as \040 in it.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 3);
    if (text[i] == '\\' && IsOctal(digits)) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + digits[2] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string Merged(std::string_view options, std::string_view more) {
  std::string merged(options);
  const std::vector<std::string_view> known = Split(options, ',');
  for (const std::string_view option : Split(more, ',')) {
    if (option.empty() || std::find(known.begin(), known.end(), option) != known.end()) continue;
    merged += ',';
    merged += option;
  }
  return merged;
}

std::optional<Mount> ParseLine(std::string_view line) {
  const std::vector<std::string_view> words = Split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (dash - words.begin() <= static_cast<ptrdiff_t>(kOptions)) return std::nullopt;
  if (words.end() - dash <= static_cast<ptrdiff_t>(kWordsAfterDash)) return std::nullopt;
  return Mount{Unescaped(words[kFolder]), Unescaped(dash[1]), Unescaped(dash[2]),
               Merged(words[kOptions], dash[3])};
}

bool LiesIn(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.substr(0, folder.size()) == folder &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::optional<Mount> FindMount(std::string_view mountinfo, std::string_view path) {
  std::optional<Mount> found;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    std::optional<Mount> mount = ParseLine(line);
    if (!mount || !LiesIn(path, mount->folder)) continue;
    // Of two at the same folder the later one hides the other.
    if (!found || mount->folder.size() >= found->folder.size()) found = std::move(mount);
  }
  return found;
}

}  // namespace tessera::probe
