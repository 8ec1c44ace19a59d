#include "tessera/checkpoint/tensor_keys.h"

#include "absl/container/flat_hash_set.h"

namespace tessera::checkpoint {
namespace {

bool HasEmptyPart(std::string_view name) {
  return name.empty() || name.front() == '.' || name.back() == '.' ||
         name.find("..") != std::string_view::npos;
}

bool MakeATree(std::span<const std::string_view> names) {
  const absl::flat_hash_set<std::string_view> all(names.begin(), names.end());
  for (const std::string_view name : names) {
    if (HasEmptyPart(name)) return false;
    for (size_t dot = name.find('.'); dot != std::string_view::npos;
         dot = name.find('.', dot + 1)) {
      if (all.contains(name.substr(0, dot))) return false;
    }
  }
  return true;
}

std::vector<std::string> Split(std::string_view name) {
  std::vector<std::string> parts;
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    parts.emplace_back(name.substr(0, dot));
    name.remove_prefix(dot + 1);
  }
  parts.emplace_back(name);
  return parts;
}

}  // namespace

std::vector<std::vector<std::string>> KeysOfTensors(std::span<const std::string_view> names) {
  const bool split = MakeATree(names);
  std::vector<std::vector<std::string>> keys;
  keys.reserve(names.size());
  for (const std::string_view name : names) {
    keys.push_back(split ? Split(name) : std::vector<std::string>{std::string(name)});
  }
  return keys;
}

}  // namespace tessera::checkpoint
