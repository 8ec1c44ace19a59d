// Where a leaf stands in a tree: one entry per container on the way from the root.
#ifndef TESSERA_TREE_KEY_PATH_H_
#define TESSERA_TREE_KEY_PATH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/tree/dict_key.h"

namespace tessera::tree {

enum class KeyEntryKind : uint8_t {
  kDictKey,    // the key of a mapping
  kIndex,      // the position in a list or tuple
  kField,      // a field of a named tuple or record, a named child of a custom node
  kFlatIndex,  // the position among the unnamed children of a custom node
};

// An entry that borrows its key.
struct KeyEntryRef {
  KeyEntryKind kind;
  const DictKey* key;  // the key or, as text, the field name; nullptr for positions
  size_t index;        // 0 for keys and fields

  // w, 3, True, mu, 0.
  void AppendText(std::string& out) const;
  // ['w'], [3], .mu, [<flat index 0>].
  void AppendDiagnostic(std::string& out) const;
};

// An entry that owns its key or shares it with the tree that it came from.
class KeyEntry {
 public:
  static KeyEntry OfKey(DictKey key);
  static KeyEntry OfField(std::string name);
  static KeyEntry OfIndex(size_t index) { return {KeyEntryKind::kIndex, index}; }
  static KeyEntry OfFlatIndex(size_t index) { return {KeyEntryKind::kFlatIndex, index}; }

  KeyEntry(KeyEntryKind kind, std::shared_ptr<const DictKey> key)
      : key_(std::move(key)), kind_(kind) {}
  KeyEntry(KeyEntryKind kind, size_t index) : index_(index), kind_(kind) {}

  KeyEntryKind kind() const { return kind_; }
  KeyEntryRef ref() const { return {kind_, key_.get(), index_}; }
  std::string ToText() const;

  friend bool operator==(const KeyEntry& a, const KeyEntry& b);

 private:
  std::shared_ptr<const DictKey> key_;
  size_t index_ = 0;
  KeyEntryKind kind_;
};

class KeyPath {
 public:
  KeyPath() = default;
  KeyPath(std::initializer_list<KeyEntry> entries) : entries_(entries) {}
  explicit KeyPath(std::vector<KeyEntry> entries) : entries_(std::move(entries)) {}

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const KeyEntry& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  // The entries' texts with `separator` between them and nothing escaped; the root is "".
  std::string Joined(std::string_view separator) const;
  std::string Dotted() const { return Joined("."); }
  std::string Slashed() const { return Joined("/"); }
  // ['a'][0].mu; the root is "".
  std::string Diagnostic() const;
  // The entries' texts.
  std::vector<std::string> Components() const;

  friend bool operator==(const KeyPath&, const KeyPath&) = default;

 private:
  std::vector<KeyEntry> entries_;
};

// `prefix` and `key` with a dot between them.  Empty text counts as absent, and what is absent
// brings no dot.
std::string JoinKey(std::optional<std::string_view> prefix, std::optional<std::string_view> key);

}  // namespace tessera::tree

#endif  // TESSERA_TREE_KEY_PATH_H_
