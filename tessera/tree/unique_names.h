// Notices when two leaves get one name.
#ifndef TESSERA_TREE_UNIQUE_NAMES_H_
#define TESSERA_TREE_UNIQUE_NAMES_H_

#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"

namespace tessera::tree {

class UniqueNames {
 public:
  // InvalidArgument, naming both leaves, if another leaf has this name.  `leaf` says which leaf
  // it is: its path in diagnostic form, "" for the root.
  absl::Status Add(std::string name, std::string leaf);

 private:
  std::unordered_map<std::string, std::string> leaf_of_name_;
};

// How a message calls the leaf at this diagnostic path.
std::string LeafForMessage(std::string_view diagnostic_path);

}  // namespace tessera::tree

#endif  // TESSERA_TREE_UNIQUE_NAMES_H_
