// JSON documents of any size: scanned once into a flat list of values that point into the text.
//
// An index may have a million entries, and what other programs wrote beside ours has to come out as
// it went in, numbers digit by digit.  So values stay text until somebody asks for one, an object
// costs nothing per member, and nothing here recurses.
#ifndef TESSERA_LEDGER_JSON_DOCUMENT_H_
#define TESSERA_LEDGER_JSON_DOCUMENT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera::ledger {

enum class JsonKind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

namespace json_internal {
struct Entry {
  uint32_t begin;  // the value's text
  uint32_t size;
  uint32_t next;  // the entry after this value and all inside it
  JsonKind kind;
  bool escaped;  // a string that has escapes, so that its text is not what it reads like
};
}  // namespace json_internal

// Whether the bare tokens NaN, Infinity and -Infinity are numbers, as Python writes them.
enum class NanTokens { kRefuse, kAccept };

// One value.  It points into its document, which must outlive it.
class JsonValue {
 public:
  class Range;

  JsonKind kind() const { return entry().kind; }
  bool is(JsonKind kind) const { return entry().kind == kind; }
  // As it stands in the document; a string with its quotes and escapes.
  std::string_view raw() const { return text_.substr(entry().begin, entry().size); }

  // A list's values; an object's keys and values by turns; else nothing.
  Range items() const;
  // How many values are inside, keys and those further inside among them.
  size_t value_count() const { return entry().next - index_ - 1; }
  // The value after `this` in what holds both.  REQUIRES: there is one.
  JsonValue Next() const { return {text_, entries_, entry().next}; }

  // The text of a string.  nullopt for one with half a surrogate pair, and for other kinds.
  std::optional<std::string> Text() const;
  // The same as it stands in the document.  nullopt for a string with escapes, too.
  std::optional<std::string_view> PlainText() const {
    if (!is(JsonKind::kString) || entry().escaped) return std::nullopt;
    return inner();
  }
  bool TextIs(std::string_view text) const {
    if (!is(JsonKind::kString)) return false;
    return entry().escaped ? Text() == text : inner() == text;
  }
  // The value of `name` in an object.  Linear.
  std::optional<JsonValue> Find(std::string_view name) const;
  // The values of several names, each as Find() gives it, in one pass.
  template <size_t N>
  std::array<std::optional<JsonValue>, N> FindEach(const std::string_view (&names)[N]) const;

 private:
  friend class JsonDocument;
  JsonValue(std::string_view text, const json_internal::Entry* entries, uint32_t index)
      : text_(text), entries_(entries), index_(index) {}
  const json_internal::Entry& entry() const { return entries_[index_]; }
  // What stands between the quotes.  REQUIRES: it is a string.
  std::string_view inner() const { return text_.substr(entry().begin + 1, entry().size - 2); }

  std::string_view text_;
  const json_internal::Entry* entries_;
  uint32_t index_;
};

class JsonValue::Range {
 public:
  class Iterator {
   public:
    explicit Iterator(JsonValue at) : at_(at) {}
    JsonValue operator*() const { return at_; }
    Iterator& operator++() {
      at_ = at_.Next();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_.index_ == other.at_.index_; }

   private:
    JsonValue at_;
  };

  Range(JsonValue first, JsonValue end) : first_(first), end_(end) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  bool empty() const { return begin() == end(); }

 private:
  JsonValue first_;
  JsonValue end_;
};

inline JsonValue::Range JsonValue::items() const {
  const bool holds = is(JsonKind::kArray) || is(JsonKind::kObject);
  const JsonValue end = Next();
  return {holds ? JsonValue(text_, entries_, index_ + 1) : end, end};
}

template <size_t N>
std::array<std::optional<JsonValue>, N> JsonValue::FindEach(
    const std::string_view (&names)[N]) const {
  std::array<std::optional<JsonValue>, N> found;
  if (!is(JsonKind::kObject)) return found;
  const Range range = items();
  for (auto at = range.begin(); at != range.end(); ++at) {
    const JsonValue key = *at;
    ++at;
    const auto name = std::find_if(names, names + N, [&](auto name) { return key.TextIs(name); });
    if (name != names + N) found[static_cast<size_t>(name - names)] = *at;
  }
  return found;
}

class JsonDocument {
 public:
  // `text` must outlive the document.  InvalidArgument with the byte offset when it is not JSON in
  // UTF-8, repeats a key within an object or nests deeper than kMaxJsonDepth.
  static absl::StatusOr<JsonDocument> Scan(std::string_view text,
                                           NanTokens nan = NanTokens::kRefuse);

  JsonValue root() const { return {text_, entries_.data(), 0}; }

 private:
  JsonDocument(std::string_view text, std::vector<json_internal::Entry> entries)
      : text_(text), entries_(std::move(entries)) {}

  std::string_view text_;
  std::vector<json_internal::Entry> entries_;
};

// Reading a value or a field with an error that says where it stands.  Messages begin with the
// field, or with a colon where the value itself is meant, so that Inside() can put the way to it
// before them: `shape: the field is missing` becomes `arrays[3].shape: the field is missing`.
absl::Status Inside(const absl::Status& status, std::string_view place);
absl::Status WrongKind(JsonValue found, std::string_view expected);

absl::Status ExpectKind(JsonValue value, JsonKind kind);
absl::StatusOr<std::string> ToText(JsonValue value);
absl::StatusOr<int64_t> ToInteger(JsonValue value);
// Integers from 0 up.
absl::StatusOr<int64_t> ToSize(JsonValue value);
absl::StatusOr<bool> ToBool(JsonValue value);
// NaN and the infinities where the document was scanned so.
absl::StatusOr<double> ToDouble(JsonValue value);
absl::StatusOr<Dims> ToShape(JsonValue value);
absl::StatusOr<std::vector<std::string>> ToTexts(JsonValue value);

// Whether it is a list of so many values.
bool IsListOf(JsonValue value, size_t count);

// For very many values: reads one, or a field as Find() gives it, to its place.  InvalidArgument
// when it is missing or wrong.
absl::Status ReadText(const JsonValue& value, std::string& text);
absl::Status ReadText(const std::optional<JsonValue>& field, std::string_view name,
                      std::string& text);
absl::Status ReadShape(const std::optional<JsonValue>& field, std::string_view name, Dims& shape);

// InvalidArgument when the field is missing, or not of this kind.
absl::StatusOr<JsonValue> Field(JsonValue object, std::string_view name);
absl::StatusOr<JsonValue> Field(JsonValue object, std::string_view name, JsonKind kind);
absl::StatusOr<std::string> TextField(JsonValue object, std::string_view name);
absl::StatusOr<int64_t> SizeField(JsonValue object, std::string_view name);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_JSON_DOCUMENT_H_
