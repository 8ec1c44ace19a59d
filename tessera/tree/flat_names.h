// Names that hold a whole path: joining keys with a separator, and taking such names apart.
#ifndef TESSERA_TREE_FLAT_NAMES_H_
#define TESSERA_TREE_FLAT_NAMES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/tree/key_path_view.h"

namespace tessera::tree {

// InvalidArgument for an empty separator or one that is not UTF-8.
absl::Status CheckSeparator(std::string_view separator);

// InvalidArgument, naming the key and its path, if a key contains the separator.
absl::StatusOr<std::string> JoinChecked(const KeyPathView& path, std::string_view separator);

// A key that is a tuple adds its elements one by one, tuples inside it likewise.
std::string JoinWithTuplesOpened(const KeyPathView& path, std::string_view separator);

// The parts between the separators; empty parts count.
std::vector<std::string_view> SplitName(std::string_view name, std::string_view separator);

// The parts with the separator between them.
std::string JoinParts(std::span<const std::string_view> parts, std::string_view separator);

// The nesting that a set of names describes.
class NameTrie {
 public:
  struct Child {
    std::string component;
    bool is_value;
    size_t at;  // which value, or which node
  };
  struct Node {
    std::vector<Child> children;  // in order of appearance
    std::unordered_map<std::string, size_t> position;
    std::string first_name;  // of those that lead here
  };

  NameTrie() : nodes_(1) {}

  // `name` is how messages call the path of these components.  InvalidArgument, naming both, when
  // the path is known or lies inside another or the other way round, and for a path of no
  // components or more than kMaxComponents.
  absl::Status Add(const std::string& name, std::span<const std::string_view> components,
                   size_t value);

  // The root first; a node stands after the one that holds it.
  const std::vector<Node>& nodes() const { return nodes_; }

  static constexpr size_t kMaxComponents = 1000;

 private:
  absl::StatusOr<size_t> Descend(size_t node, std::string_view component, const std::string& name);

  std::vector<Node> nodes_;
  std::vector<std::string> name_of_value_;
};

}  // namespace tessera::tree

#endif  // TESSERA_TREE_FLAT_NAMES_H_
