#include "tessera/steps/step_info.h"

#include <algorithm>
#include <chrono>
#include <compare>
#include <utility>

namespace tessera::steps {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

// Takes characters off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // A number of exactly `digits` digits from `least` to `most`; else notes the failure and gives 0.
  int64_t Number(size_t digits, int64_t least, int64_t most) {
    int64_t number = 0;
    for (size_t i = 0; i < digits; ++i) number = number * 10 + Digit();
    if (number < least || number > most) ok_ = false;
    return number;
  }
  void Expect(char c) {
    if (!Take(c)) ok_ = false;
  }
  bool Take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool AtDigit() const { return !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; }
  int64_t Digit() {
    if (!AtDigit()) {
      ok_ = false;
      return 0;
    }
    const int64_t digit = text_[0] - '0';
    text_.remove_prefix(1);
    return digit;
  }
  bool ok() const { return ok_; }
  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

std::optional<int64_t> SecondsOfDay(Scanner& scanner) {
  const int64_t hour = scanner.Number(2, 0, 23);
  scanner.Expect(':');
  const int64_t minute = scanner.Number(2, 0, 59);
  scanner.Expect(':');
  const int64_t second = scanner.Number(2, 0, 59);
  if (!scanner.ok()) return std::nullopt;
  return (hour * 60 + minute) * 60 + second;
}

std::optional<int64_t> DaysSince1970(Scanner& scanner) {
  const auto year = static_cast<int>(scanner.Number(4, 1, 9999));
  scanner.Expect('-');
  const auto month = static_cast<unsigned>(scanner.Number(2, 1, 12));
  scanner.Expect('-');
  const auto day = static_cast<unsigned>(scanner.Number(2, 1, 31));
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!scanner.ok() || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// Of up to 6 digits, as Python writes them.
int64_t FractionMicros(Scanner& scanner) {
  if (!scanner.Take('.')) return 0;
  int64_t micros = scanner.Digit();
  for (int i = 1; i < 6; ++i) micros = micros * 10 + (scanner.AtDigit() ? scanner.Digit() : 0);
  return micros;
}

std::optional<int64_t> ZoneMicros(Scanner& scanner) {
  if (scanner.Take('Z')) return 0;
  const bool east = scanner.Take('+');
  if (!east && !scanner.Take('-')) return std::nullopt;
  const int64_t hours = scanner.Number(2, 0, 23);
  scanner.Expect(':');
  const int64_t minutes = scanner.Number(2, 0, 59);
  return (east ? 1 : -1) * (hours * 60 + minutes) * 60 * kMicrosPerSecond;
}

// What a step is chosen by; the greatest wins.
struct Rank {
  bool readable = false;
  std::optional<int64_t> first;
  std::optional<int64_t> second;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

bool AllHaveZones(std::span<const StepInfo> steps) {
  return std::all_of(steps.begin(), steps.end(), [](const StepInfo& step) {
    const auto time = ParseTimestamp(step.timestamp);
    return !time.has_value() || time->offset_micros.has_value();
  });
}

Rank RankOf(const StepInfo& step, LatestBy by, bool zones) {
  std::optional<int64_t> time;
  if (const auto parsed = ParseTimestamp(step.timestamp); parsed.has_value()) {
    time = parsed->micros - (zones ? parsed->offset_micros.value_or(0) : 0);
  }
  if (by == LatestBy::kStep) return {step.metadata_readable, step.step, time};
  return {step.metadata_readable, time, step.step};
}

}  // namespace

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  Scanner scanner(text);
  const auto days = DaysSince1970(scanner);
  if (!scanner.Take('T')) scanner.Expect(' ');
  const auto seconds = SecondsOfDay(scanner);
  if (!days.has_value() || !seconds.has_value()) return std::nullopt;
  Timestamp time;
  time.micros = (*days * 86400 + *seconds) * kMicrosPerSecond + FractionMicros(scanner);
  time.offset_micros = ZoneMicros(scanner);
  if (!scanner.ok() || !scanner.done()) return std::nullopt;
  return time;
}

std::vector<size_t> LatestFirst(std::span<const StepInfo> steps, LatestBy by) {
  const bool zones = AllHaveZones(steps);
  std::vector<std::pair<Rank, size_t>> ranked;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].committed) ranked.emplace_back(RankOf(steps[i], by, zones), i);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> positions;
  positions.reserve(ranked.size());
  for (const auto& [rank, position] : ranked) positions.push_back(position);
  return positions;
}

std::optional<size_t> LatestStep(std::span<const StepInfo> steps, LatestBy by) {
  const std::vector<size_t> positions = LatestFirst(steps, by);
  if (positions.empty()) return std::nullopt;
  return positions.front();
}

}  // namespace tessera::steps
