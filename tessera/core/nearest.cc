#include "tessera/core/nearest.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tessera/core/natural_order.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera {
namespace {

std::string_view LastPart(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Lower is nearer; past `most`: not meant.
size_t Farness(std::string_view name, std::string_view candidate, size_t most) {
  const size_t distance = EditDistance(name, candidate, most);
  if (distance <= most) return distance;
  if (name.size() >= 3 && candidate.find(name) != std::string_view::npos) return most + 1;
  const std::string_view last = LastPart(name);
  if (last.size() >= 3 && last.size() < name.size() && LastPart(candidate) == last) return most + 2;
  return most + 3;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b, size_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > most) return most + 1;
  // Rows of the table of prefixes' distances: the one before the last, the last, this one.
  std::vector<size_t> older(a.size() + 1), old(a.size() + 1), now(a.size() + 1);
  std::iota(old.begin(), old.end(), 0);
  for (size_t j = 1; j <= b.size(); ++j) {
    now[0] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      const size_t changed = old[i - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[i] = std::min({changed, old[i] + 1, now[i - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[i] = std::min(now[i], older[i - 2] + 1);
      }
    }
    if (*std::min_element(now.begin(), now.end()) > most) return most + 1;
    std::swap(older, old);
    std::swap(old, now);
  }
  return std::min(old[a.size()], most + 1);
}

std::vector<std::string> NearestNames(std::string_view name,
                                      std::span<const std::string_view> candidates, size_t count) {
  const size_t most = std::max<size_t>(1, name.size() / 3);
  std::vector<std::pair<size_t, std::string_view>> near;
  for (std::string_view candidate : candidates) {
    const size_t farness = Farness(name, candidate, most);
    if (farness < most + 3) near.emplace_back(farness, candidate);
  }
  const auto less = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : NaturalLess(a.second, b.second);
  };
  const size_t kept = std::min(count, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<ptrdiff_t>(kept), near.end(), less);
  std::vector<std::string> names;
  for (size_t i = 0; i < kept; ++i) names.emplace_back(near[i].second);
  return names;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::vector<std::string> names = NearestNames(name, candidates);
  if (names.empty()) return "";
  std::string text = Concat("; did you mean ", Quoted(names[0]));
  for (size_t i = 1; i < names.size(); ++i) {
    text += Concat(i + 1 == names.size() ? " or " : ", ", Quoted(names[i]));
  }
  return text + "?";
}

}  // namespace tessera
