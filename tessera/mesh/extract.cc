#include "tessera/mesh/extract.h"

#include <algorithm>

namespace tessera::mesh {
namespace {

void AddNames(const PartitionSpec& spec, std::vector<std::string>& names) {
  for (const SpecEntry& entry : spec.entries()) {
    for (const std::string& axis : entry.axes()) {
      // A mesh has a handful of axes, so looking through the list beats hashing.
      if (std::find(names.begin(), names.end(), axis) == names.end()) names.push_back(axis);
    }
  }
}

}  // namespace

absl::StatusOr<PartitionSpec> SpecOfLeaf(const LeafInfo& info,
                                         const GetPartitionSpecOptions& options) {
  if (info.kind == LeafKind::kNumber) return PartitionSpec();
  if (!info.array.has_value()) {
    return InvalidArgument("get_partition_spec: expected an array or a number, found ",
                           info.type_name.empty() ? "another kind of leaf" : info.type_name);
  }
  if (const auto* named = std::get_if<NamedSharding>(&info.sharding)) return named->spec();
  if (const auto* spec = std::get_if<PartitionSpec>(&info.sharding)) return *spec;
  if (options.strict) {
    return InvalidArgument("get_partition_spec: the ", info.type_name, " has no partition spec");
  }
  return PartitionSpec();
}

std::vector<std::string> GetNamesFromPartitionSpec(std::span<const PartitionSpec> specs) {
  std::vector<std::string> names;
  for (const PartitionSpec& spec : specs) AddNames(spec, names);
  return names;
}

std::vector<std::string> GetNamesFromPartitionSpec(const PartitionSpec& spec) {
  return GetNamesFromPartitionSpec(std::span(&spec, 1));
}

absl::StatusOr<std::vector<std::string>> GetNamesFromPartitionSpec(
    const tree::Tree<PartitionSpec>& specs) {
  std::vector<std::string> names;
  TESSERA_RETURN_IF_ERROR(tree::ForEachLeaf(
      specs, [&](const tree::KeyPathView&, const PartitionSpec& spec) { AddNames(spec, names); }));
  return names;
}

}  // namespace tessera::mesh
