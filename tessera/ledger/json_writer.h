// JSON text, appended value by value in the forms that Python's json module writes.
#ifndef TESSERA_LEDGER_JSON_WRITER_H_
#define TESSERA_LEDGER_JSON_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/hash128.h"
#include "tessera/ledger/json_document.h"

namespace tessera::ledger {

enum class JsonStyle {
  kCompact,   // {"a":1,"b":[2,3]}
  kOneLine,   // {"a": 1, "b": [2, 3]}, json.dumps(x)
  kIndented,  // json.dumps(x, indent=2)
};

// Everything but ASCII is escaped.
class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : style_(style) {}

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }
  void Key(std::string_view key);

  void String(std::string_view text);
  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Bool(bool value) { Token(value ? "true" : "false"); }
  void Null() { Token("null"); }
  void Hash(const Hash128& hash) { String(hash.Hex()); }
  void Integers(std::span<const int64_t> values);
  void Strings(std::span<const std::string> values);
  // A value in its final form.
  void Token(std::string_view token);
  // A value of another document, in this one's style; numbers stay as they are written there.
  void Copy(JsonValue value);
  // Starts a new line between two values of a compact text, for those who look at it.
  void BreakLine() { text_ += '\n'; }

  std::string_view text() const { return text_; }
  // The text.  InvalidArgument, with the first one, when a string was not UTF-8.
  absl::StatusOr<std::string> Finish();

 private:
  void Begin(char bracket);
  void End(char bracket);
  // What stands between the value before and the next one.
  void Separate();
  void NewLine();
  void AppendString(std::string_view text);

  JsonStyle style_;
  std::string text_;
  std::string first_bad_;
  int depth_ = 0;
  bool fresh_ = true;       // nothing stands in the innermost container so far
  bool after_key_ = false;  // the next value belongs to the key just written
};

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_JSON_WRITER_H_
