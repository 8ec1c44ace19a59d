#include "tessera/ledger/json_document.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <utility>

#include "tessera/core/json.h"
#include "tessera/core/reserve_large.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"

namespace tessera::ledger {
namespace {

using json_internal::Entry;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<unsigned> HexDigit(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a' + 10);
  return std::nullopt;
}

// The four digits after \u at `at`.
std::optional<uint32_t> HexUnit(std::string_view text, size_t at) {
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  uint32_t unit = 0;
  for (const char c : text.substr(at, 4)) {
    const std::optional<unsigned> digit = HexDigit(c);
    if (!digit.has_value()) return std::nullopt;
    unit = unit << 4 | *digit;
  }
  return unit;
}

constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

// Appends the code point whose escape's digits begin at `at`, and moves past them.
bool UnescapeUnit(std::string_view text, size_t& at, std::string& out) {
  uint32_t unit = *HexUnit(text, at);
  at += 4;
  if (unit >= 0xD800 && unit < 0xDC00 && text.substr(at, 2) == "\\u") {
    const uint32_t low = *HexUnit(text, at + 2);
    if (low < 0xDC00 || low > 0xDFFF) return false;
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    at += 6;
  }
  if (unit >= 0xD800 && unit < 0xE000) return false;
  AppendUtf8(static_cast<char32_t>(unit), out);
  return true;
}

// Bytes that stand in a string for themselves: neither quote nor backslash nor control character.
constexpr std::array<bool, 256> kPlainBytes = [] {
  std::array<bool, 256> plain = {};
  for (size_t byte = 0x20; byte < plain.size(); ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

// REQUIRES: `text` was scanned as what stands between the quotes of a string.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = text[at++];
    if (escape != 'u') {
      out += kEscaped[kEscapes.find(escape)];
    } else if (!UnescapeUnit(text, at, out)) {
      return std::nullopt;
    }
  }
  return out;
}

class Scanner {
 public:
  Scanner(std::string_view text, NanTokens nan) : text_(text), nan_(nan) {}

  absl::StatusOr<std::vector<Entry>> Scan() {
    if (text_.size() > std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument("bad JSON: ", text_.size(), " bytes; at most 4 GiB are read");
    }
    if (const auto bad = FirstInvalidUtf8(text_)) {
      return InvalidArgument("bad JSON at byte ", *bad, ": not UTF-8");
    }
    // Growth moves everything, and pages that are not written to cost nothing: most documents have
    // fewer values than this.
    ReserveLarge(entries_, std::min(text_.size() / kBytesPerValue + 1, kMostReserved));
    SkipSpace();
    TESSERA_RETURN_IF_ERROR(Value());
    while (!open_.empty()) TESSERA_RETURN_IF_ERROR(Step());
    SkipSpace();
    if (at_ != text_.size()) return Bad();
    return std::move(entries_);
  }

 private:
  static constexpr size_t kBytesPerValue = 8;
  static constexpr size_t kMostReserved = size_t{1} << 24;

  struct Open {
    uint32_t entry;
    bool fresh;  // nothing in it so far
  };

  absl::Status Bad() const { return InvalidArgument("bad JSON at byte ", at_); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  // Most of the time goes here, so the place is kept out of memory on the way.
  template <typename Predicate>
  void SkipWhile(Predicate is_skipped) {
    size_t at = at_;
    while (at < text_.size() && is_skipped(text_[at])) ++at;
    at_ = at;
  }
  void SkipSpace() {
    SkipWhile([](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  }
  void Add(JsonKind kind, size_t begin, bool escaped = false) {
    entries_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin),
                        static_cast<uint32_t>(entries_.size() + 1), kind, escaped});
  }

  // Goes on in the innermost open container.
  absl::Status Step() {
    Open& top = open_.back();
    const bool object = entries_[top.entry].kind == JsonKind::kObject;
    SkipSpace();
    if (Take(object ? '}' : ']')) return Close();
    if (!std::exchange(top.fresh, false)) {
      if (!Take(',')) return Bad();
      SkipSpace();
    }
    if (object) {
      if (Peek() != '"') return Bad();
      TESSERA_RETURN_IF_ERROR(String());
      SkipSpace();
      if (!Take(':')) return Bad();
      SkipSpace();
    }
    return Value();
  }

  absl::Status Value() {
    switch (Peek()) {
      case '{':
        return OpenContainer(JsonKind::kObject);
      case '[':
        return OpenContainer(JsonKind::kArray);
      case '"':
        return String();
      case 't':
        return Literal("true", JsonKind::kBool);
      case 'f':
        return Literal("false", JsonKind::kBool);
      case 'n':
        return Literal("null", JsonKind::kNull);
      default:
        return Number();
    }
  }

  absl::Status OpenContainer(JsonKind kind) {
    if (open_.size() == kMaxJsonDepth) {
      return InvalidArgument("bad JSON: it nests deeper than ", kMaxJsonDepth);
    }
    open_.push_back({static_cast<uint32_t>(entries_.size()), true});
    const size_t begin = at_++;
    Add(kind, begin);
    return absl::OkStatus();
  }

  absl::Status Close() {
    const uint32_t index = open_.back().entry;
    open_.pop_back();
    Entry& entry = entries_[index];
    entry.size = static_cast<uint32_t>(at_ - entry.begin);
    entry.next = static_cast<uint32_t>(entries_.size());
    return entry.kind == JsonKind::kObject ? CheckKeys(index) : absl::OkStatus();
  }

  absl::Status Literal(std::string_view literal, JsonKind kind) {
    if (text_.substr(at_, literal.size()) != literal) return Bad();
    const size_t begin = std::exchange(at_, at_ + literal.size());
    Add(kind, begin);
    return absl::OkStatus();
  }

  absl::Status String() {
    const size_t begin = at_++;
    bool escaped = false;
    while (true) {
      SkipWhile([](char c) { return kPlainBytes[static_cast<unsigned char>(c)]; });
      if (Take('"')) break;
      if (!Take('\\') || !Escape()) return Bad();
      escaped = true;
    }
    Add(JsonKind::kString, begin, escaped);
    return absl::OkStatus();
  }

  // What follows a backslash.
  bool Escape() {
    if (Peek() == 'u') {
      if (!HexUnit(text_, at_ + 1).has_value()) return false;
      at_ += 5;
      return true;
    }
    if (at_ >= text_.size() || kEscapes.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }

  bool Digits() {
    if (!IsDigit(Peek())) return false;
    SkipWhile(IsDigit);
    return true;
  }

  absl::Status Number() {
    const size_t begin = at_;
    Take('-');
    if (nan_ == NanTokens::kAccept) {
      if (Peek() == 'I') return Restart(begin, Literal("Infinity", JsonKind::kNumber));
      if (Peek() == 'N' && at_ == begin) return Literal("NaN", JsonKind::kNumber);
    }
    if (!Take('0') && !Digits()) return Bad();
    if (Take('.') && !Digits()) return Bad();
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (!Digits()) return Bad();
    }
    Add(JsonKind::kNumber, begin);
    return absl::OkStatus();
  }

  // Lets the last entry begin at `begin`, where a sign stands before it.
  absl::Status Restart(size_t begin, absl::Status status) {
    if (!status.ok()) return status;
    entries_.pop_back();
    Add(JsonKind::kNumber, begin);
    return status;
  }

  absl::Status CheckKeys(uint32_t object) {
    keys_.clear();
    unescaped_keys_.clear();
    for (uint32_t key = object + 1; key < entries_[object].next; key = entries_[key + 1].next) {
      const Entry& entry = entries_[key];
      std::string_view text = text_.substr(entry.begin + 1, entry.size - 2);
      if (entry.escaped) {
        std::optional<std::string> unescaped = Unescaped(text);
        if (!unescaped.has_value()) {
          return InvalidArgument("bad JSON at byte ", entry.begin,
                                 ": half a surrogate pair in a key");
        }
        text = unescaped_keys_.emplace_back(*std::move(unescaped));
      }
      keys_.push_back(text);
    }
    std::sort(keys_.begin(), keys_.end());
    const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice == keys_.end()) return absl::OkStatus();
    return InvalidArgument("bad JSON: the key '", *twice, "' stands twice in one object");
  }

  std::string_view text_;
  NanTokens nan_;
  size_t at_ = 0;
  std::vector<Entry> entries_;
  std::vector<Open> open_;
  // Of the object that is being closed.
  std::vector<std::string_view> keys_;
  std::deque<std::string> unescaped_keys_;  // that keys_ looks at; a deque does not move them
};

}  // namespace

absl::StatusOr<JsonDocument> JsonDocument::Scan(std::string_view text, NanTokens nan) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<Entry> entries, Scanner(text, nan).Scan());
  return JsonDocument(text, std::move(entries));
}

std::optional<std::string> JsonValue::Text() const {
  if (!is(JsonKind::kString)) return std::nullopt;
  return entry().escaped ? Unescaped(inner()) : std::string(inner());
}

std::optional<JsonValue> JsonValue::Find(std::string_view name) const {
  if (!is(JsonKind::kObject)) return std::nullopt;
  const Range range = items();
  for (auto at = range.begin(); at != range.end(); ++at) {
    const JsonValue key = *at;
    ++at;
    if (key.TextIs(name)) return *at;
  }
  return std::nullopt;
}

}  // namespace tessera::ledger
