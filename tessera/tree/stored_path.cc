#include "tessera/tree/stored_path.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tessera/core/status.h"
#include "tessera/core/utf8.h"
#include "tessera/tree/dict_key.h"
#include "tessera/tree/flat_names.h"
#include "tessera/tree/unique_names.h"

namespace tessera::tree {
namespace {

// Not a valid escape, so no other component is stored like this.
constexpr std::string_view kEmptyComponent = "%-";

bool NeedsEscape(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F || c == '%' || c == '/' || c == '\\' || c == '.';
}

std::string EncodeComponent(std::string_view component) {
  if (component.empty()) return std::string(kEmptyComponent);
  std::string name;
  for (const char c : component) {
    if (NeedsEscape(c)) {
      fmt::format_to(std::back_inserter(name), "%{:02X}", static_cast<unsigned char>(c));
    } else {
      name += c;
    }
  }
  return name;
}

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// Undoes the escapes; nullopt for one that is cut off or not hexadecimal.
std::optional<std::string> Unescape(std::string_view name) {
  std::string component;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      component += name[i];
      continue;
    }
    if (name.size() - i < 3) return std::nullopt;
    const std::optional<unsigned> high = HexDigit(name[i + 1]);
    const std::optional<unsigned> low = HexDigit(name[i + 2]);
    if (!high.has_value() || !low.has_value()) return std::nullopt;
    component += static_cast<char>(*high << 4 | *low);
    i += 2;
  }
  return component;
}

absl::StatusOr<std::string> DecodeComponent(std::string_view name) {
  if (name == kEmptyComponent) return std::string();
  const std::string shown = DictKey(name).ToRepr();
  if (name.empty()) return DataLoss("an empty name; the empty component is stored as %-");
  if (name.size() > kMaxStoredName) {
    return DataLoss("name ", shown, " has ", name.size(), " bytes; at most ", kMaxStoredName,
                    " are stored");
  }
  std::optional<std::string> component = Unescape(name);
  if (!component.has_value()) {
    return DataLoss("name ", shown, " has a bad escape; % must be followed by two of 0-9A-F");
  }
  if (!IsValidUtf8(*component)) return DataLoss("name ", shown, " does not hold UTF-8");
  // One component, one name: what is escaped without need, or not escaped, was not stored by us.
  if (std::string stored = EncodeComponent(*component); stored != name) {
    return DataLoss("name ", shown, " would be stored as '", stored, "'");
  }
  return *std::move(component);
}

// The longest proper prefix of `path` that ends before a slash; "" holds every path.
std::optional<std::string_view> ParentOf(std::string_view path) {
  if (path.empty()) return std::nullopt;
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Whether `a` comes before `b` where every path stands right before what lies inside it, and does
// not hold it.
bool IsBeforeAndApart(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  const auto [left, right] = std::mismatch(a.begin(), a.begin() + common, b.begin());
  const bool is_prefix = left == a.begin() + common;
  if (is_prefix) return common > 0 && a.size() < b.size() && b[common] != '/';
  if (*left == '/' || *right == '/') return *left == '/';
  return static_cast<unsigned char>(*left) < static_cast<unsigned char>(*right);
}

// Trees are mostly saved in this order, in which neighbours tell that all paths are apart: what
// lies inside a path would follow it at once.
bool AreInOrderAndApart(std::span<const std::string_view> paths) {
  return std::adjacent_find(paths.begin(), paths.end(), [](std::string_view a, std::string_view b) {
           return !IsBeforeAndApart(a, b);
         }) == paths.end();
}

}  // namespace

absl::StatusOr<std::string> EncodeStoredPath(std::span<const std::string> components) {
  std::string path;
  for (size_t i = 0; i < components.size(); ++i) {
    const std::string& component = components[i];
    if (const std::optional<size_t> bad = FirstInvalidUtf8(component)) {
      return InvalidArgument("component ", i, ", ", DictKey(component).ToRepr(),
                             ", is not UTF-8 from byte ", *bad, " on");
    }
    const std::string name = EncodeComponent(component);
    if (name.size() > kMaxStoredName) {
      return InvalidArgument("component ", i, ", '", name.substr(0, 32),
                             "...', needs a file name of ", name.size(), " bytes; at most ",
                             kMaxStoredName, " are accepted");
    }
    if (i > 0) path += '/';
    path += name;
  }
  return path;
}

absl::StatusOr<std::vector<std::string>> DecodeStoredPath(std::string_view path) {
  std::vector<std::string> components;
  if (path.empty()) return components;
  for (const std::string_view name : SplitName(path, "/")) {
    absl::StatusOr<std::string> component = DecodeComponent(name);
    if (!component.ok()) {
      return Prefixed(component.status(), Concat("stored path ", DictKey(path).ToRepr()));
    }
    components.push_back(*std::move(component));
  }
  return components;
}

std::vector<std::string> SplitLegacyPath(std::string_view path) {
  const std::vector<std::string_view> parts = SplitName(path, "/");
  return {parts.begin(), parts.end()};
}

absl::Status CheckUniquePaths(std::span<const std::string_view> paths,
                              absl::FunctionRef<std::string(size_t)> leaf) {
  if (AreInOrderAndApart(paths)) return absl::OkStatus();
  absl::flat_hash_map<std::string_view, size_t> holders;
  holders.reserve(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto [holder, is_new] = holders.try_emplace(paths[i], i);
    if (is_new) continue;
    const std::string path(paths[i]);
    UniqueNames names;
    TESSERA_RETURN_IF_ERROR(names.Add(path, leaf(holder->second)));
    return Prefixed(names.Add(path, leaf(i)), "stored paths");
  }
  absl::flat_hash_set<std::string_view> no_holders;  // parents that were looked at
  std::optional<std::string_view> last;              // neighbours mostly have the same
  for (size_t i = 0; i < paths.size(); ++i) {
    if (ParentOf(paths[i]) == last) continue;
    last = ParentOf(paths[i]);
    for (auto parent = last; parent.has_value(); parent = ParentOf(*parent)) {
      if (!no_holders.insert(*parent).second) break;
      const auto holder = holders.find(*parent);
      if (holder == holders.end()) continue;
      return InvalidArgument("stored paths: leaf ", LeafForMessage(leaf(i)), " at '", paths[i],
                             "' lies inside leaf ", LeafForMessage(leaf(holder->second)), " at '",
                             *parent, "'");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckUniquePaths(std::span<const std::string> paths,
                              std::span<const std::string> leaves) {
  TESSERA_CHECK(paths.size() == leaves.size());
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  return CheckUniquePaths(views, [&](size_t i) { return leaves[i]; });
}

}  // namespace tessera::tree
