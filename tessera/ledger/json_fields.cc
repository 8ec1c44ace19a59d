#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/json_document.h"

namespace tessera::ledger {
namespace {

constexpr std::string_view kKindNames[] = {"null",   "boolean", "number",
                                           "string", "array",   "object"};
constexpr std::string_view kWanted[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};

// Of a number the kind alone would not tell what is wrong with it.
std::string Found(JsonValue value) {
  constexpr size_t kLongest = 40;
  if (!value.is(JsonKind::kNumber)) {
    return std::string(kKindNames[static_cast<size_t>(value.kind())]);
  }
  return std::string(value.raw().substr(0, kLongest));
}

absl::StatusOr<int64_t> IntegerOf(JsonValue value, std::string_view expected) {
  const std::string_view raw = value.raw();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  // It is no number, or one that goes on after its digits.
  if (end != raw.data() + raw.size()) return WrongKind(value, expected);
  if (error != std::errc()) {
    return InvalidArgument(": ", Found(value), " does not fit 63 bits");
  }
  return number;
}

absl::Status ShapeOf(const JsonValue& value, Dims& shape) {
  if (!value.is(JsonKind::kArray)) return WrongKind(value, "a list of sizes");
  shape.clear();
  for (const JsonValue item : value.items()) {
    if (shape.size() == kMaxRank) {
      return InvalidArgument(": more than ", kMaxRank, " dimensions are not supported");
    }
    const absl::StatusOr<int64_t> size = ToSize(item);
    if (!size.ok()) return Inside(size.status(), Concat("[", shape.size(), "]"));
    shape.push_back(*size);
  }
  return absl::OkStatus();
}

absl::Status Missing(std::string_view name) {
  return InvalidArgument(name, ": the field is missing");
}

}  // namespace

absl::Status Inside(const absl::Status& status, std::string_view place) {
  const std::string_view message(status.message().data(), status.message().size());
  const bool joined = message.empty() || message[0] == ':' || message[0] == '[';
  return {status.code(), Concat(place, joined ? "" : ".", message)};
}

absl::Status WrongKind(JsonValue found, std::string_view expected) {
  return InvalidArgument(": expected ", expected, ", found ", Found(found));
}

absl::Status ExpectKind(JsonValue value, JsonKind kind) {
  if (value.is(kind)) return absl::OkStatus();
  return WrongKind(value, kWanted[static_cast<size_t>(kind)]);
}

absl::StatusOr<std::string> ToText(JsonValue value) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(value, JsonKind::kString));
  std::optional<std::string> text = value.Text();
  if (!text.has_value()) {
    return InvalidArgument(": half a surrogate pair in ", Quoted(value.raw()));
  }
  return *std::move(text);
}

absl::StatusOr<int64_t> ToInteger(JsonValue value) { return IntegerOf(value, "an integer"); }

absl::StatusOr<int64_t> ToSize(JsonValue value) {
  constexpr std::string_view kExpected = "a size from 0 up";
  return value.raw()[0] == '-' ? WrongKind(value, kExpected) : IntegerOf(value, kExpected);
}

absl::StatusOr<bool> ToBool(JsonValue value) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(value, JsonKind::kBool));
  return value.raw() == "true";
}

absl::StatusOr<double> ToDouble(JsonValue value) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(value, JsonKind::kNumber));
  const std::string_view raw = value.raw();
  if (raw == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (raw == "Infinity") return std::numeric_limits<double>::infinity();
  if (raw == "-Infinity") return -std::numeric_limits<double>::infinity();
  double number = 0;
  const auto result = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (result.ec != std::errc()) return InvalidArgument(": ", Found(value), " does not fit a float");
  return number;
}

absl::StatusOr<Dims> ToShape(JsonValue value) {
  Dims shape;
  TESSERA_RETURN_IF_ERROR(ShapeOf(value, shape));
  return shape;
}

absl::StatusOr<std::vector<std::string>> ToTexts(JsonValue value) {
  constexpr size_t kLongest = 80;
  std::vector<std::string> texts;
  for (const JsonValue item : value.items()) {
    std::optional<std::string> text = item.Text();
    if (!value.is(JsonKind::kArray) || !text.has_value()) {
      return InvalidArgument(": expected a list of strings, found ",
                             value.raw().substr(0, kLongest));
    }
    texts.push_back(*std::move(text));
  }
  if (!value.is(JsonKind::kArray)) return WrongKind(value, "a list of strings");
  return texts;
}

bool IsListOf(JsonValue value, size_t count) {
  if (!value.is(JsonKind::kArray)) return false;
  size_t found = 0;
  for ([[maybe_unused]] const JsonValue item : value.items()) {
    if (++found > count) return false;
  }
  return found == count;
}

absl::Status ReadText(const JsonValue& value, std::string& text) {
  if (const auto plain = value.PlainText()) {
    text = *plain;
    return absl::OkStatus();
  }
  TESSERA_ASSIGN_OR_RETURN(text, ToText(value));
  return absl::OkStatus();
}

absl::Status ReadText(const std::optional<JsonValue>& field, std::string_view name,
                      std::string& text) {
  if (!field.has_value()) return Missing(name);
  const absl::Status status = ReadText(*field, text);
  return status.ok() ? status : Inside(status, name);
}

absl::Status ReadShape(const std::optional<JsonValue>& field, std::string_view name, Dims& shape) {
  if (!field.has_value()) return Missing(name);
  const absl::Status status = ShapeOf(*field, shape);
  return status.ok() ? status : Inside(status, name);
}

absl::StatusOr<JsonValue> Field(JsonValue object, std::string_view name) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(object, JsonKind::kObject));
  const std::optional<JsonValue> value = object.Find(name);
  if (!value.has_value()) return Missing(name);
  return *value;
}

absl::StatusOr<JsonValue> Field(JsonValue object, std::string_view name, JsonKind kind) {
  TESSERA_ASSIGN_OR_RETURN(const JsonValue value, Field(object, name));
  if (absl::Status status = ExpectKind(value, kind); !status.ok()) return Inside(status, name);
  return value;
}

absl::StatusOr<std::string> TextField(JsonValue object, std::string_view name) {
  TESSERA_RETURN_IF_ERROR(ExpectKind(object, JsonKind::kObject));
  std::string text;
  TESSERA_RETURN_IF_ERROR(ReadText(object.Find(name), name, text));
  return text;
}

absl::StatusOr<int64_t> SizeField(JsonValue object, std::string_view name) {
  TESSERA_ASSIGN_OR_RETURN(const JsonValue value, Field(object, name));
  absl::StatusOr<int64_t> size = ToSize(value);
  if (!size.ok()) return Inside(size.status(), name);
  return size;
}

}  // namespace tessera::ledger
