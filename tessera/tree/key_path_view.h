// A key path that borrows from the walk that stands there; good until the walk moves on.
#ifndef TESSERA_TREE_KEY_PATH_VIEW_H_
#define TESSERA_TREE_KEY_PATH_VIEW_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tree/key_path.h"
#include "tessera/tree/node_def.h"

namespace tessera::tree {

// One step from a container to a child.
struct KeyStep {
  const NodeDefPtr* container;
  size_t child;
};

class KeyPathView {
 public:
  KeyPathView() = default;
  explicit KeyPathView(std::span<const KeyStep> steps) : steps_(steps) {}

  size_t size() const { return steps_.size(); }
  bool empty() const { return steps_.empty(); }
  const KeyStep& back() const { return steps_.back(); }
  KeyEntryRef operator[](size_t i) const { return (*steps_[i].container)->Entry(steps_[i].child); }

  // As KeyPath's.
  std::string Joined(std::string_view separator) const;
  std::string Dotted() const { return Joined("."); }
  std::string Slashed() const { return Joined("/"); }
  std::string Diagnostic() const;
  std::vector<std::string> Components() const;

  // A path that owns what it names.
  KeyPath ToKeyPath() const;

  // For messages: "the root", or the dotted form, cut after `kMostComponents` components.
  std::string ForMessage() const;
  static constexpr size_t kMostComponents = 16;

 private:
  std::span<const KeyStep> steps_;
};

}  // namespace tessera::tree

#endif  // TESSERA_TREE_KEY_PATH_VIEW_H_
