#include "tessera/inspect/slice.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::inspect {
namespace {

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// A dimension and what was written for it.
struct Place {
  size_t dimension;
  int64_t size;
  std::string_view text;

  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return InvalidArgument("slice ", Quoted(text), " of dimension ", dimension, ", which has size ",
                           size, ": ", parts...);
  }
};

absl::StatusOr<std::optional<int64_t>> ParseNumber(const Place& place, std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec == std::errc::result_out_of_range) {
    // Past any dimension, as all numbers that large.
    return text.front() == '-' ? std::numeric_limits<int64_t>::min()
                               : std::numeric_limits<int64_t>::max();
  }
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    return place.Error("expected an integer, a range start:stop:step, or ...");
  }
  return number;
}

absl::StatusOr<Steps> ParseIndex(const Place& place) {
  TESSERA_ASSIGN_OR_RETURN(const auto number, ParseNumber(place, place.text));
  if (!number.has_value()) return place.Error("expected an integer or a range between the commas");
  if (*number < -place.size || *number >= place.size) {
    if (place.size == 0) return place.Error("no index lies in it; a range may be empty");
    return place.Error("expected an index from ", -place.size, " to ", place.size - 1);
  }
  return Steps{*number < 0 ? *number + place.size : *number, 1, 1, true};
}

// Where a range that goes up or down begins or ends, by Python's rules.
int64_t Clamped(std::optional<int64_t> number, int64_t size, bool up, int64_t without) {
  if (!number.has_value()) return without;
  const int64_t from_start = *number < 0 ? *number + size : *number;
  return up ? std::clamp<int64_t>(from_start, 0, size)
            : std::clamp<int64_t>(from_start, -1, size - 1);
}

absl::StatusOr<Steps> ParseRange(const Place& place) {
  const std::vector<std::string_view> parts = SplitAt(place.text, ':');
  if (parts.size() > 3) return place.Error("expected start:stop:step at the most");
  TESSERA_ASSIGN_OR_RETURN(const auto start, ParseNumber(place, parts[0]));
  TESSERA_ASSIGN_OR_RETURN(const auto stop, ParseNumber(place, parts[1]));
  std::optional<int64_t> by;
  if (parts.size() == 3) {
    TESSERA_ASSIGN_OR_RETURN(by, ParseNumber(place, parts[2]));
  }
  if (by == 0) return place.Error("expected a step that is not 0");
  // Steps that are longer than the dimension all do the same.
  const int64_t most = std::max<int64_t>(1, place.size);
  const int64_t step = std::clamp(by.value_or(1), -most, most);
  const bool up = step > 0;
  const int64_t first = Clamped(start, place.size, up, up ? 0 : place.size - 1);
  const int64_t end = Clamped(stop, place.size, up, up ? place.size : -1);
  const int64_t span = up ? end - first : first - end;
  const int64_t stride = up ? step : -step;
  const int64_t count = span <= 0 ? 0 : (span - 1) / stride + 1;
  return count == 0 ? Steps{} : Steps{first, count, step};
}

absl::StatusOr<Steps> ParseSteps(const Place& place) {
  return place.text.find(':') == std::string_view::npos ? ParseIndex(place) : ParseRange(place);
}

// One text for each dimension, ":" where nothing was written.
absl::StatusOr<std::vector<std::string_view>> Fill(std::vector<std::string_view> parts,
                                                   std::string_view text, DimsView shape) {
  const auto dots = std::find(parts.begin(), parts.end(), "...");
  const bool has_dots = dots != parts.end();
  if (has_dots && std::find(dots + 1, parts.end(), "...") != parts.end()) {
    return InvalidArgument("slice ", Quoted(text), ": found ... twice, expected it once at most");
  }
  const size_t given = parts.size() - (has_dots ? 1 : 0);
  if (given > shape.size()) {
    return InvalidArgument("slice ", Quoted(text), ": found ", given,
                           " dimensions, expected at most the ", shape.size(), " of shape ",
                           ShapeText(shape));
  }
  const auto at = has_dots ? parts.erase(dots) : parts.end();
  parts.insert(at, shape.size() - given, ":");
  return parts;
}

}  // namespace

Dims Selection::counts() const {
  Dims counts;
  for (const Steps& steps : dimensions) counts.push_back(steps.count);
  return counts;
}

Dims Selection::shape() const {
  Dims shape;
  for (const Steps& steps : dimensions) {
    if (!steps.dropped) shape.push_back(steps.count);
  }
  return shape;
}

bool Selection::empty() const {
  return std::any_of(dimensions.begin(), dimensions.end(),
                     [](const Steps& steps) { return steps.count == 0; });
}

Box Selection::Hull() const {
  Dims origin, shape;
  for (const Steps& steps : dimensions) {
    const auto [low, high] = std::minmax({steps.first, steps.at(steps.count - 1)});
    origin.push_back(low);
    shape.push_back(high - low + 1);
  }
  return *Box::Make(origin, shape);
}

Selection Selection::Part(size_t dimension, int64_t begin, int64_t count) const {
  Selection part = *this;
  part.dimensions[dimension].first = dimensions[dimension].at(begin);
  part.dimensions[dimension].count = count;
  return part;
}

Selection SelectAll(DimsView shape) {
  Selection all;
  for (const int64_t size : shape) all.dimensions.push_back({0, size});
  return all;
}

absl::StatusOr<Selection> ParseSlice(std::string_view text, DimsView shape) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '\t') plain += c;
  }
  if (plain.empty()) return SelectAll(shape);
  std::vector<std::string_view> parts = SplitAt(plain, ',');
  // "0," is a tuple of one in Python.
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  TESSERA_ASSIGN_OR_RETURN(parts, Fill(std::move(parts), plain, shape));
  Selection selection;
  for (size_t d = 0; d < shape.size(); ++d) {
    TESSERA_ASSIGN_OR_RETURN(const Steps steps, ParseSteps({d, shape[d], parts[d]}));
    selection.dimensions.push_back(steps);
  }
  return selection;
}

}  // namespace tessera::inspect
