#include "tessera/cli/fold.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

// A number of more digits is a name.
constexpr size_t kMostDigits = 18;

bool IsNumber(std::string_view part) {
  if (part.empty() || part.size() > kMostDigits) return false;
  if (part[0] == '0' && part.size() > 1) return false;
  return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int64_t NumberOf(std::string_view part) {
  int64_t number = 0;
  std::from_chars(part.data(), part.data() + part.size(), number);
  return number;
}

// "{0..31}", "{0..3,7}"; the number alone when there is one.
std::string RangesText(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  if (numbers.size() == 1) return Concat(numbers[0]);
  std::string text = "{";
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (i > 0) text += ",";
    text += Concat(numbers[i]);
    if (end - i == 2) text += Concat(",", numbers[end - 1]);
    if (end - i > 2) text += Concat("..", numbers[end - 1]);
    i = end;
  }
  text += "}";
  return text;
}

// A key of which the end is folded, up to a number that is not yet.
struct Partial {
  std::string_view head;  // before the number
  int64_t number = 0;
  std::string_view tail;  // after it
  int64_t kind = 0;
  std::vector<size_t> items;
};

class Folder {
 public:
  // A key whose last `folded` bytes are done.
  void Add(std::string_view key, size_t folded, int64_t kind, std::vector<size_t> items) {
    size_t end = key.size() - folded;
    while (end > 0) {
      const size_t dot = key.rfind('.', end - 1);
      const size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
      const std::string_view part = key.substr(begin, end - begin);
      if (IsNumber(part)) {
        partials_.push_back(
            {key.substr(0, begin), NumberOf(part), key.substr(end), kind, std::move(items)});
        return;
      }
      end = begin == 0 ? 0 : begin - 1;
    }
    folds_.push_back({std::string(key), std::move(items)});
  }

  std::vector<Fold> Finish() && {
    while (!partials_.empty()) FoldNumbers();
    for (Fold& fold : folds_) std::sort(fold.items.begin(), fold.items.end());
    std::sort(folds_.begin(), folds_.end(),
              [](const Fold& a, const Fold& b) { return a.items[0] < b.items[0]; });
    return std::move(folds_);
  }

 private:
  // Folds one number of each over all that are the same but for it.
  void FoldNumbers() {
    struct Group {
      Partial first;
      std::vector<int64_t> numbers;
    };
    absl::flat_hash_map<std::tuple<std::string_view, std::string_view, int64_t>, size_t> place_of;
    std::vector<Group> groups;
    for (Partial& partial : std::exchange(partials_, {})) {
      const auto [place, is_new] =
          place_of.try_emplace({partial.head, partial.tail, partial.kind}, groups.size());
      if (is_new) groups.push_back({std::move(partial), {}});
      Group& group = groups[place->second];
      group.numbers.push_back(is_new ? group.first.number : partial.number);
      if (is_new) continue;
      group.first.items.insert(group.first.items.end(), partial.items.begin(), partial.items.end());
    }
    for (Group& group : groups) {
      const std::string ranges = RangesText(std::move(group.numbers));
      const Partial& first = group.first;
      texts_.push_back(Concat(first.head, ranges, first.tail));
      Add(texts_.back(), ranges.size() + first.tail.size(), first.kind,
          std::move(group.first.items));
    }
  }

  std::deque<std::string> texts_;  // that partials look at
  std::vector<Partial> partials_;
  std::vector<Fold> folds_;
};

}  // namespace

std::vector<Fold> FoldKeys(std::span<const FoldItem> items) {
  Folder folder;
  for (size_t i = 0; i < items.size(); ++i) folder.Add(items[i].key, 0, items[i].kind, {i});
  return std::move(folder).Finish();
}

std::vector<Fold> UnfoldedKeys(std::span<const FoldItem> items) {
  std::vector<Fold> folds;
  for (size_t i = 0; i < items.size(); ++i) folds.push_back({std::string(items[i].key), {i}});
  return folds;
}

std::string TimesText(size_t count, const Terminal& terminal) {
  if (count == 1) return "";
  return Concat(terminal.unicode ? "×" : "x", CountText(static_cast<int64_t>(count)));
}

}  // namespace tessera::cli
