// Times as checkpoints write them down: ISO 8601, with a zone or without.
#ifndef TESSERA_LEDGER_TIMESTAMP_H_
#define TESSERA_LEDGER_TIMESTAMP_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera::ledger {

struct Timestamp {
  // What date and clock showed, in microseconds from the start of 1970 on.
  int64_t wall_us = 0;
  // How far that clock is ahead of UTC; nullopt: the writer did not say.
  std::optional<int64_t> ahead_of_utc_us = {};

  // In the time of UTC where the zone is known.
  int64_t utc_us() const { return wall_us - ahead_of_utc_us.value_or(0); }
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// By which times can be ordered.  REQUIRES, for an order of all: one `all_zoned` for all, which is
// whether every one has a zone.  Among others the zones are passed over, so that all are compared
// by what the clocks showed.
inline int64_t OrderOf(const Timestamp& time, bool all_zoned) {
  return all_zoned ? time.utc_us() : time.wall_us;
}

// InvalidArgument unless `text` is like 2026-06-21T08:08:41, with a fraction of a second (digits
// past the sixth are dropped) and a zone (Z or like +02:00) or without.
absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text);

// 2026-06-21T08:08:41.000123+00:00, the fraction left out where it is zero, as Python does.
// REQUIRES: the year has four digits.
std::string FormatTimestamp(std::chrono::system_clock::time_point time);

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_TIMESTAMP_H_
