#include "tessera/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "tessera/core/environment.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"

namespace tessera::cli {
namespace {

// The first of them that is set and not empty.
std::string LocaleName() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::optional<std::string> value = GetEnvironment(name);
    if (value.has_value() && !value->empty()) return *value;
  }
  return "C";
}

bool IsUtf8Locale() {
  std::string name = LocaleName();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
}

int ColumnsOf(int descriptor) {
  if (const std::optional<std::string> text = GetEnvironment("COLUMNS")) {
    const absl::StatusOr<int64_t> columns = ParseInteger(*text);
    if (columns.ok() && *columns > 0 && *columns < 100'000) return static_cast<int>(*columns);
  }
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool IsControl(char32_t c) {
  // C0, DEL and C1, and the marks that reorder or hide text.
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

// East Asian wide characters and pictures, which take two columns.
bool IsWide(char32_t c) {
  constexpr std::array<std::pair<char32_t, char32_t>, 7> kWide = {{{0x1100, 0x115F},
                                                                   {0x2E80, 0xA4CF},
                                                                   {0xAC00, 0xD7A3},
                                                                   {0xF900, 0xFAFF},
                                                                   {0xFF00, 0xFF60},
                                                                   {0x1F300, 0x1FAFF},
                                                                   {0x20000, 0x3FFFD}}};
  return std::any_of(kWide.begin(), kWide.end(),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

bool IsCombining(char32_t c) {
  return (c >= 0x300 && c <= 0x36F) || (c >= 0x1AB0 && c <= 0x1AFF) ||
         (c >= 0x20D0 && c <= 0x20FF) || (c >= 0xFE00 && c <= 0xFE0F) ||
         (c >= 0xFE20 && c <= 0xFE2F);
}

size_t WidthOf(char32_t c) { return IsCombining(c) ? 0 : IsWide(c) ? 2 : 1; }

}  // namespace

Terminal Terminal::Of(int descriptor) {
  Terminal result;
  result.is_terminal = isatty(descriptor) == 1;
  result.unicode = IsUtf8Locale();
  if (!result.is_terminal) return result;
  result.columns = ColumnsOf(descriptor);
  const std::string no_color = GetEnvironment("NO_COLOR").value_or("");
  const std::string term = GetEnvironment("TERM").value_or("");
  result.colour = no_color.empty() && !term.empty() && term != "dumb";
  return result;
}

Terminal Terminal::OfRank(int descriptor) { return {.unicode = Of(descriptor).unicode}; }

std::string Terminal::Painted(std::string_view parameters, std::string_view text) const {
  if (!colour || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", parameters, text);
}

std::string Printable(std::string_view text, const Terminal& terminal) {
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    const char32_t c = DecodeUtf8(text.substr(0, length))[0];
    if (IsControl(c) && c < 0x100) {
      result += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else if (IsControl(c) || (c >= 0x80 && !terminal.unicode)) {
      result += fmt::format("\\u{{{:x}}}", static_cast<uint32_t>(c));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const size_t end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    const size_t length = std::max<size_t>(1, Utf8SequenceLength(text));
    width += length == 1 ? 1 : WidthOf(DecodeUtf8(text.substr(0, length))[0]);
    text.remove_prefix(length);
  }
  return width;
}

std::string CutMiddle(std::string_view text, size_t columns, const Terminal& terminal) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  const std::string_view gap = terminal.ellipsis();
  const size_t gap_width = DisplayWidth(gap);
  if (columns <= gap_width) return std::string(columns, '.');
  const std::u32string letters = DecodeUtf8(text);
  // The end tells more of a key than the beginning does.
  const size_t left_columns = (columns - gap_width) / 3;
  const size_t right_columns = columns - gap_width - left_columns;
  std::string left, right;
  for (size_t i = 0, used = 0; i < letters.size(); ++i) {
    if ((used += WidthOf(letters[i])) > left_columns) break;
    AppendUtf8(letters[i], left);
  }
  size_t begin = letters.size();
  for (size_t used = 0; begin > 0; --begin) {
    if ((used += WidthOf(letters[begin - 1])) > right_columns) break;
  }
  for (; begin < letters.size(); ++begin) AppendUtf8(letters[begin], right);
  return Concat(left, gap, right);
}

}  // namespace tessera::cli
