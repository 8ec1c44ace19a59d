#include "tessera/ledger/paths.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::ledger {
namespace {

constexpr std::string_view kOwnFolder = ".tessera";
constexpr std::string_view kLockSuffix = ".__lock";

absl::Status Unsafe(std::string_view path, std::string_view why) {
  return InvalidArgument("unsafe path ", Quoted(path), ": ", why);
}

absl::Status CheckParts(std::string_view path) {
  std::string_view rest = path;
  while (true) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty()) return Unsafe(path, "a part of it is empty");
    if (part == "." || part == "..") return Unsafe(path, Concat("it has the part '", part, "'"));
    if (part.ends_with(kLockSuffix)) return Unsafe(path, "it is the name of a lock file");
    if (slash == std::string_view::npos) return absl::OkStatus();
    rest.remove_prefix(slash + 1);
  }
}

// Puts a path right before what lies inside it.
bool ParentFirst(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  const auto [left, right] = std::mismatch(a.begin(), a.begin() + common, b.begin());
  if (left == a.begin() + static_cast<ptrdiff_t>(common)) return a.size() < b.size();
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  return rank(*left) < rank(*right);
}

bool Contains(std::string_view outer, std::string_view inner) {
  if (outer.empty()) return true;
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

// A path with its place in its list.
struct Placed {
  std::string_view path;
  size_t place;
  bool ours;
};

void AddTo(std::vector<Placed>& all, std::span<const std::string_view> paths, bool ours) {
  all.reserve(all.size() + paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    all.push_back({paths[i] == "." ? std::string_view() : paths[i], i, ours});
  }
}

void SortParentsFirst(std::vector<Placed>& paths) {
  const auto before = [](const Placed& a, const Placed& b) { return ParentFirst(a.path, b.path); };
  // Trees are mostly saved in this order.
  if (std::is_sorted(paths.begin(), paths.end(), before)) return;
  std::stable_sort(paths.begin(), paths.end(), before);
}

// The paths on the way to the one that is looked at, outermost first.
class Ancestors {
 public:
  // The innermost that holds `path`; those that do not are over.
  const Placed* Of(const Placed& path) {
    while (!open_.empty() && !Contains(open_.back().path, path.path)) open_.pop_back();
    return open_.empty() ? nullptr : &open_.back();
  }
  void Add(const Placed& path) {
    Of(path);
    open_.push_back(path);
  }

 private:
  std::vector<Placed> open_;
};

}  // namespace

absl::Status CheckSafeFile(std::string_view path) {
  if (path.empty()) return Unsafe(path, "it is empty");
  if (path[0] == '/') return Unsafe(path, "it is absolute");
  if (path.find('\0') != std::string_view::npos) return Unsafe(path, "it has a NUL");
  return CheckParts(path);
}

absl::Status CheckSafeArray(std::string_view path) {
  if (path == ".") return absl::OkStatus();
  if (path.find('\\') != std::string_view::npos && path.find('/') == std::string_view::npos) {
    return Unsafe(path, "its backslashes would be read as slashes");
  }
  if (Contains(kOwnFolder, path)) return Unsafe(path, "tessera keeps its own files there");
  return CheckSafeFile(path);
}

std::optional<Collision> FindNested(std::span<const std::string_view> paths) {
  std::vector<Placed> sorted;
  AddTo(sorted, paths, true);
  SortParentsFirst(sorted);
  // What lies inside a path follows it at once, so that neighbours tell.
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].path == sorted[i].path) continue;
    if (Contains(sorted[i - 1].path, sorted[i].path)) {
      return Collision{sorted[i - 1].place, sorted[i].place};
    }
  }
  return std::nullopt;
}

std::optional<Encounter> FindEncounter(std::span<const std::string_view> ours,
                                       std::span<const std::string_view> theirs) {
  std::vector<Placed> sorted;
  AddTo(sorted, ours, true);
  AddTo(sorted, theirs, false);
  SortParentsFirst(sorted);
  Ancestors ancestors[2];
  for (const Placed& path : sorted) {
    if (const Placed* other = ancestors[path.ours ? 0 : 1].Of(path)) {
      return path.ours ? Encounter{path.place, other->place} : Encounter{other->place, path.place};
    }
    ancestors[path.ours ? 1 : 0].Add(path);
  }
  return std::nullopt;
}

}  // namespace tessera::ledger
