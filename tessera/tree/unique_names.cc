#include "tessera/tree/unique_names.h"

#include <utility>

#include "tessera/core/status.h"

namespace tessera::tree {

absl::Status UniqueNames::Add(std::string name, std::string leaf) {
  const auto [entry, inserted] = leaf_of_name_.try_emplace(std::move(name), std::move(leaf));
  if (inserted) return absl::OkStatus();
  return InvalidArgument("leaves ", LeafForMessage(entry->second), " and ", LeafForMessage(leaf),
                         " would both be named '", entry->first, "'");
}

std::string LeafForMessage(std::string_view diagnostic_path) {
  return diagnostic_path.empty() ? "(the root)" : std::string(diagnostic_path);
}

}  // namespace tessera::tree
