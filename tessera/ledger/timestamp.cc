#include "tessera/ledger/timestamp.h"

#include <fmt/format.h>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::ledger {
namespace {

constexpr int64_t kSecond = 1000000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// Takes the parts of a time from the front of a text.  Once one does not fit, all fail.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  // A number of exactly `digits` digits from `low` to `high`.
  int64_t Number(size_t digits, int64_t low, int64_t high) {
    int64_t number = 0;
    for (size_t i = 0; i < digits; ++i) number = 10 * number + Digit();
    if (number < low || number > high) failed_ = true;
    return number;
  }

  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) failed_ = true;
  }

  // The digits after the point, in microseconds.
  int64_t Fraction() {
    int64_t micros = Digit() * (kSecond / 10);
    for (int64_t unit = kSecond / 100; AtDigit(); unit /= 10) micros += Digit() * unit;
    return micros;
  }

  void Fail() { failed_ = true; }
  bool AtEnd() const { return rest_.empty() && !failed_; }

 private:
  bool AtDigit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  int64_t Digit() {
    if (!AtDigit()) {
      failed_ = true;
      return 0;
    }
    const int64_t digit = rest_[0] - '0';
    rest_.remove_prefix(1);
    return digit;
  }

  std::string_view rest_;
  bool failed_ = false;
};

int64_t TakeDate(Parts& parts) {
  const auto year = static_cast<int>(parts.Number(4, 1, 9999));
  parts.Expect('-');
  const auto month = static_cast<unsigned>(parts.Number(2, 1, 12));
  parts.Expect('-');
  const auto day = static_cast<unsigned>(parts.Number(2, 1, 31));
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) {
    parts.Fail();
    return 0;
  }
  return std::chrono::sys_days(date).time_since_epoch().count() * kDay;
}

int64_t TakeClock(Parts& parts) {
  int64_t time = parts.Number(2, 0, 23) * kHour;
  parts.Expect(':');
  time += parts.Number(2, 0, 59) * kMinute;
  parts.Expect(':');
  time += parts.Number(2, 0, 59) * kSecond;
  if (parts.Take('.')) time += parts.Fraction();
  return time;
}

std::optional<int64_t> TakeZone(Parts& parts) {
  if (parts.Take('Z')) return 0;
  const bool behind = parts.Take('-');
  if (!behind && !parts.Take('+')) return std::nullopt;
  int64_t offset = parts.Number(2, 0, 23) * kHour;
  parts.Take(':');
  offset += parts.Number(2, 0, 59) * kMinute;
  return behind ? -offset : offset;
}

}  // namespace

absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text) {
  Parts parts(text);
  Timestamp time;
  time.wall_us = TakeDate(parts);
  if (!parts.Take(' ')) parts.Expect('T');
  time.wall_us += TakeClock(parts);
  time.ahead_of_utc_us = TakeZone(parts);
  if (parts.AtEnd()) return time;
  return InvalidArgument("expected a time like 2026-06-21T08:08:41, found ", Quoted(text));
}

std::string FormatTimestamp(std::chrono::system_clock::time_point time) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(micros);
  const std::chrono::year_month_day date(day);
  const int64_t clock = (micros - day).count();
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock / kHour, clock / kMinute % 60, clock / kSecond % 60);
  if (clock % kSecond != 0) text += fmt::format(".{:06}", clock % kSecond);
  return text + "+00:00";
}

}  // namespace tessera::ledger
