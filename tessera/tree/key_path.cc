#include "tessera/tree/key_path.h"

#include <iterator>

#include <fmt/format.h>

namespace tessera::tree {

void KeyEntryRef::AppendText(std::string& out) const {
  if (key == nullptr) {
    fmt::format_to(std::back_inserter(out), "{}", index);
  } else if (key->text() != nullptr) {
    out += *key->text();
  } else {
    out += key->ToText();
  }
}

void KeyEntryRef::AppendDiagnostic(std::string& out) const {
  const auto append = std::back_inserter(out);
  switch (kind) {
    case KeyEntryKind::kDictKey:
      fmt::format_to(append, "[{}]", key->ToRepr());
      return;
    case KeyEntryKind::kIndex:
      fmt::format_to(append, "[{}]", index);
      return;
    case KeyEntryKind::kField:
      fmt::format_to(append, ".{}", key->ToText());
      return;
    case KeyEntryKind::kFlatIndex:
      fmt::format_to(append, "[<flat index {}>]", index);
      return;
  }
}

KeyEntry KeyEntry::OfKey(DictKey key) {
  return {KeyEntryKind::kDictKey, std::make_shared<const DictKey>(std::move(key))};
}

KeyEntry KeyEntry::OfField(std::string name) {
  return {KeyEntryKind::kField, std::make_shared<const DictKey>(std::move(name))};
}

std::string KeyEntry::ToText() const {
  std::string text;
  ref().AppendText(text);
  return text;
}

bool operator==(const KeyEntry& a, const KeyEntry& b) {
  if (a.kind_ != b.kind_ || a.index_ != b.index_) return false;
  return a.key_ == b.key_ || (a.key_ != nullptr && b.key_ != nullptr && *a.key_ == *b.key_);
}

std::string KeyPath::Joined(std::string_view separator) const {
  std::string text;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (i > 0) text += separator;
    entries_[i].ref().AppendText(text);
  }
  return text;
}

std::string KeyPath::Diagnostic() const {
  std::string text;
  for (const KeyEntry& entry : entries_) entry.ref().AppendDiagnostic(text);
  return text;
}

std::vector<std::string> KeyPath::Components() const {
  std::vector<std::string> components;
  components.reserve(entries_.size());
  for (const KeyEntry& entry : entries_) components.push_back(entry.ToText());
  return components;
}

std::string JoinKey(std::optional<std::string_view> prefix, std::optional<std::string_view> key) {
  const std::string_view left = prefix.value_or("");
  const std::string_view right = key.value_or("");
  if (left.empty() || right.empty()) return std::string(left.empty() ? right : left);
  return fmt::format("{}.{}", left, right);
}

}  // namespace tessera::tree
