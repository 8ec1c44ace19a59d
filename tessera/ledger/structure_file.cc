#include "tessera/ledger/structure_file.h"

#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/ledger/pickle_base64.h"

namespace tessera::ledger {
namespace {

// Python writes these as bare words, which JSON does not know.  Between parsing and writing, each
// is a text that begins with NUL.
constexpr std::string_view kBareWords[] = {"NaN", "-Infinity", "Infinity"};

std::string QuotedWord(std::string_view word) { return Concat("\"\\u0000", word, "\""); }

// The length of the token that `text` begins with: a whole string, else one character.
size_t TokenLength(std::string_view text) {
  if (text[0] != '"') return 1;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

std::optional<std::string_view> BareWordAt(std::string_view text) {
  for (const std::string_view word : kBareWords) {
    if (text.starts_with(word)) return word;
  }
  return std::nullopt;
}

// `text` with the bare words, which stand outside of strings, put into quotes.
std::string QuoteBareWords(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  while (!text.empty()) {
    const auto word = BareWordAt(text);
    const size_t taken = word.has_value() ? word->size() : TokenLength(text);
    quoted += word.has_value() ? QuotedWord(*word) : std::string(text.substr(0, taken));
    text.remove_prefix(taken);
  }
  return quoted;
}

std::string UnquoteBareWords(std::string text) {
  for (const std::string_view bare : kBareWords) {
    const std::string quoted = QuotedWord(bare);
    for (size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at)) {
      text.replace(at, quoted.size(), bare);
    }
  }
  return text;
}

// The value of a member of the document, as it is written, which parsing would bring into another
// order.  REQUIRES: `document` is a JSON object; `quoted_name` is found if it is written that way.
std::string_view RawMember(std::string_view document, std::string_view quoted_name) {
  int depth = 0;
  std::string_view name;  // of the member around, or the last string
  size_t begin = 0;
  for (size_t i = 0; i < document.size(); i += TokenLength(document.substr(i))) {
    const char c = document[i];
    if (depth == 1 && begin != 0 && (c == ',' || c == '}')) {
      return document.substr(begin, i - begin);
    }
    if (depth == 1 && c == '"') name = document.substr(i, TokenLength(document.substr(i)));
    if (depth == 1 && c == ':' && name == quoted_name) begin = i + 1;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return {};
}

absl::StatusOr<std::vector<std::string>> Strings(const ObjectReader& reader, const char* field) {
  TESSERA_ASSIGN_OR_RETURN(const Json* list, reader.Array(field));
  std::vector<std::string> strings;
  strings.reserve(list->size());
  for (const Json& item : *list) {
    if (!item.is_string()) {
      return InvalidArgument(field, "[", strings.size(), "]: expected a string, found ",
                             item.type_name());
    }
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

absl::StatusOr<std::vector<bool>> Bools(const ObjectReader& reader, const char* field) {
  TESSERA_ASSIGN_OR_RETURN(const Json* list, reader.Array(field));
  std::vector<bool> bools;
  bools.reserve(list->size());
  for (const Json& item : *list) {
    if (!item.is_boolean()) {
      return InvalidArgument(field, "[", bools.size(), "]: expected true or false, found ",
                             item.type_name());
    }
    bools.push_back(item.get<bool>());
  }
  return bools;
}

absl::StatusOr<std::string> Optional(const ObjectReader& reader, const char* field,
                                     std::string_view missing) {
  if (!reader.Has(field)) return std::string(missing);
  return reader.String(field);
}

absl::Status CheckBase64(std::string_view text, std::string_view field) {
  const auto bytes = DecodeBase64(text);
  return bytes.ok() ? absl::OkStatus() : Prefixed(bytes.status(), field);
}

// Without leading zeros or a sign, so that no two texts are one position.
std::optional<size_t> PositionOf(std::string_view text) {
  size_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return position;
}

absl::StatusOr<std::map<size_t, std::string>> Values(const ObjectReader& reader) {
  std::map<size_t, std::string> values;
  if (!reader.Has("nonarray_payload")) return values;
  TESSERA_ASSIGN_OR_RETURN(const auto table, reader.Object("nonarray_payload"));
  for (const auto& [name, value] : table.json().items()) {
    const std::string path = table.PathOf(Quoted(name));
    const auto position = PositionOf(name);
    if (!position.has_value()) return InvalidArgument(path, ": expected the number of a leaf");
    if (!value.is_string()) {
      return InvalidArgument(path, ": expected Base64, found ", value.type_name());
    }
    TESSERA_RETURN_IF_ERROR(CheckBase64(value.get_ref<const std::string&>(), path));
    values.emplace(*position, value.get<std::string>());
  }
  return values;
}

// Whether no name is empty, "." or ".." or holds NUL.  Windows writes '\' where others write '/'.
bool IsSafePath(std::string_view path) {
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(path.find_first_of("/\\", begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..") return false;
    if (name.find('\0') != std::string_view::npos) return false;
    if (end == path.size()) return true;
    begin = end + 1;
  }
}

absl::Status CheckArrayLists(const PytreeStructure& file) {
  if (file.leaf_keys.size() != file.is_array.size()) {
    return FailedPrecondition("leaf_keys_full has ", file.leaf_keys.size(),
                              " leaves, but arr_mask has ", file.is_array.size());
  }
  if (file.array_keys.size() != file.array_paths.size()) {
    return FailedPrecondition("array_keys has ", file.array_keys.size(),
                              " arrays, but array_relpaths has ", file.array_paths.size());
  }
  size_t array = 0;
  for (size_t leaf = 0; leaf < file.leaf_keys.size(); ++leaf) {
    if (!file.is_array[leaf]) continue;
    if (array == file.array_keys.size() || file.array_keys[array] != file.leaf_keys[leaf]) {
      return FailedPrecondition("array_keys[", array, "]: expected ", Quoted(file.leaf_keys[leaf]),
                                ", which leaf ", leaf, " is, found ",
                                array == file.array_keys.size() ? std::string("no more")
                                                                : Quoted(file.array_keys[array]));
    }
    ++array;
  }
  if (array == file.array_keys.size()) return absl::OkStatus();
  return FailedPrecondition("arr_mask names ", array, " arrays, but array_keys has ",
                            file.array_keys.size());
}

absl::Status CheckValues(const PytreeStructure& file) {
  for (const auto& [position, value] : file.values_base64) {
    if (position < file.is_array.size() && !file.is_array[position]) continue;
    return FailedPrecondition("nonarray_payload.", position,
                              ": there is no such leaf, or it is an array");
  }
  for (size_t leaf = 0; leaf < file.is_array.size(); ++leaf) {
    if (file.is_array[leaf] || file.values_base64.contains(leaf)) continue;
    return FailedPrecondition("nonarray_payload: leaf ", leaf, ", ", Quoted(file.leaf_keys[leaf]),
                              ", is no array and has no value");
  }
  return absl::OkStatus();
}

absl::Status CheckPaths(const PytreeStructure& file) {
  for (size_t i = 0; i < file.array_paths.size(); ++i) {
    if (IsSafePath(file.array_paths[i])) continue;
    return InvalidArgument("array_relpaths[", i, "]: ", Quoted(file.array_paths[i]),
                           " is no path inside the checkpoint");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Extras(const ObjectReader& reader, std::string_view text) {
  if (!reader.Has("extras")) return std::string("{}");
  TESSERA_RETURN_IF_ERROR(reader.Object("extras"));
  const std::string_view raw = RawMember(text, "\"extras\"");
  const size_t begin = raw.find('{');
  if (begin == std::string_view::npos) {
    return InvalidArgument("extras: the name must be written without escapes");
  }
  const std::string_view object = raw.substr(begin, raw.rfind('}') - begin + 1);
  if (object.size() > kMaxExtrasBytes) {
    return InvalidArgument("extras: ", object.size(), " bytes, of which at most ", kMaxExtrasBytes,
                           " are read");
  }
  return std::string(object);
}

absl::StatusOr<PytreeStructure> FieldsFromJson(const ObjectReader& reader) {
  PytreeStructure file;
  TESSERA_ASSIGN_OR_RETURN(file.version, Optional(reader, "version", ""));
  TESSERA_ASSIGN_OR_RETURN(file.backend, Optional(reader, "backend", "tensorstore"));
  TESSERA_ASSIGN_OR_RETURN(file.prefix, reader.String("prefix"));
  TESSERA_ASSIGN_OR_RETURN(file.treedef_base64, Optional(reader, "treedef_b64", ""));
  TESSERA_RETURN_IF_ERROR(CheckBase64(file.treedef_base64, "treedef_b64"));
  TESSERA_ASSIGN_OR_RETURN(file.leaf_keys, Strings(reader, "leaf_keys_full"));
  TESSERA_ASSIGN_OR_RETURN(file.is_array, Bools(reader, "arr_mask"));
  TESSERA_ASSIGN_OR_RETURN(file.array_keys, Strings(reader, "array_keys"));
  TESSERA_ASSIGN_OR_RETURN(file.array_paths, Strings(reader, "array_relpaths"));
  TESSERA_ASSIGN_OR_RETURN(file.values_base64, Values(reader));
  return file;
}

// `value` is JSON.
std::string Member(std::string_view name, std::string_view value) {
  return Concat("  \"", name, "\": ", value);
}

// REQUIRES: UTF-8.
std::string JsonText(const std::string& text) { return Json(text).dump(-1, ' ', true); }

// Items that are JSON already, one to a line, as Python indents what stands in a member.
std::string Block(char open, std::span<const std::string> items, char close) {
  if (items.empty()) return Concat(open, close);
  std::string block(1, open);
  for (size_t i = 0; i < items.size(); ++i) {
    block += Concat(i == 0 ? "\n    " : ",\n    ", items[i]);
  }
  return block + "\n  " + close;
}

std::string TextBlock(std::span<const std::string> texts) {
  std::vector<std::string> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) items.push_back(JsonText(text));
  return Block('[', items, ']');
}

std::string MaskBlock(const std::vector<bool>& mask) {
  std::vector<std::string> items;
  items.reserve(mask.size());
  for (const bool bit : mask) items.emplace_back(bit ? "true" : "false");
  return Block('[', items, ']');
}

std::string ValuesBlock(const std::map<size_t, std::string>& values) {
  std::vector<std::string> items;
  for (const auto& [position, value] : values) {
    items.push_back(Concat("\"", position, "\": ", JsonText(value)));
  }
  return Block('{', items, '}');
}

absl::StatusOr<std::string> ExtrasBlock(const std::string& extras) {
  TESSERA_ASSIGN_OR_RETURN(const OrderedJson json, ParseOrderedJson(QuoteBareWords(extras)));
  if (!json.is_object()) return InvalidArgument("expected a JSON object");
  std::string block;
  // No line ends inside a text, where they are escaped.
  for (const char c : json.dump(2, ' ', true)) {
    block += c;
    if (c == '\n') block += "  ";
  }
  return UnquoteBareWords(std::move(block));
}

absl::Status CheckTexts(const PytreeStructure& file) {
  const auto check = [](std::span<const std::string> texts, std::string_view field) {
    for (const std::string& text : texts) {
      if (!IsValidUtf8(text)) return InvalidArgument(field, ": ", Quoted(text), " is no UTF-8");
    }
    return absl::OkStatus();
  };
  const std::string alone[] = {file.version, file.backend, file.prefix, file.treedef_base64};
  TESSERA_RETURN_IF_ERROR(check(alone, "version, backend, prefix or treedef_b64"));
  TESSERA_RETURN_IF_ERROR(check(file.leaf_keys, "leaf_keys_full"));
  TESSERA_RETURN_IF_ERROR(check(file.array_keys, "array_keys"));
  TESSERA_RETURN_IF_ERROR(check(file.array_paths, "array_relpaths"));
  for (const auto& [position, value] : file.values_base64) {
    TESSERA_RETURN_IF_ERROR(check({&value, 1}, "nonarray_payload"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string StructureFileName(std::string_view prefix) {
  return Concat(prefix.empty() ? "pytree" : prefix, "_structure.json");
}

absl::StatusOr<PytreeStructure> DecodeStructureFile(std::string_view text,
                                                    std::string_view prefix) {
  if (text.size() > kMaxStructureFileBytes) {
    return InvalidArgument("a structure file of ", text.size(), " bytes, of which at most ",
                           kMaxStructureFileBytes, " are read");
  }
  TESSERA_ASSIGN_OR_RETURN(const Json json, ParseJson(QuoteBareWords(text)));
  TESSERA_ASSIGN_OR_RETURN(const auto reader, ObjectReader::Make(json));
  TESSERA_ASSIGN_OR_RETURN(PytreeStructure file, FieldsFromJson(reader));
  TESSERA_ASSIGN_OR_RETURN(file.extras, Extras(reader, text));
  if (file.prefix != prefix) {
    return FailedPrecondition("prefix: expected ", Quoted(prefix), ", found ", Quoted(file.prefix));
  }
  TESSERA_RETURN_IF_ERROR(CheckArrayLists(file));
  TESSERA_RETURN_IF_ERROR(CheckValues(file));
  TESSERA_RETURN_IF_ERROR(CheckPaths(file));
  return file;
}

absl::StatusOr<std::string> EncodeStructureFile(const PytreeStructure& file) {
  TESSERA_RETURN_IF_ERROR(CheckTexts(file));
  auto extras = ExtrasBlock(file.extras);
  if (!extras.ok()) return Prefixed(extras.status(), "extras");
  const std::string members[] = {
      Member("format", "\"pytree-structure\""),
      Member("version", JsonText(file.version)),
      Member("backend", JsonText(file.backend)),
      Member("prefix", JsonText(file.prefix)),
      Member("treedef_b64", JsonText(file.treedef_base64)),
      Member("leaf_keys_full", TextBlock(file.leaf_keys)),
      Member("arr_mask", MaskBlock(file.is_array)),
      Member("array_keys", TextBlock(file.array_keys)),
      Member("array_relpaths", TextBlock(file.array_paths)),
      Member("nonarray_payload", ValuesBlock(file.values_base64)),
      Member("safetensors_file", "null"),
      Member("extras", *extras),
  };
  std::string text = "{";
  for (const std::string& member : members) {
    text += Concat(text.size() == 1 ? "\n" : ",\n", member);
  }
  return text + "\n}";
}

}  // namespace tessera::ledger
