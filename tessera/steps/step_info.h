// What is known of one checkpoint of a run, and when it was made.
#ifndef TESSERA_STEPS_STEP_INFO_H_
#define TESSERA_STEPS_STEP_INFO_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::steps {

// A time as metadata.json has it: ISO 8601, with a zone or, as eformer writes it, without.
struct Timestamp {
  int64_t micros = 0;                         // of the written date and time, since 1970
  std::optional<int64_t> offset_micros = {};  // of its zone east of UTC; nullopt: none written
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// 2026-06-21T08:08:41, with a fraction of up to 6 digits and Z or +02:00 if written; else nullopt.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

struct StepInfo {
  std::optional<int64_t> step = {};  // nullopt: neither its name nor its metadata tells
  std::string path = {};             // its key prefix in the store, without a '/' at the end
  bool committed = false;
  bool temporary = false;
  uint64_t bytes = 0;
  std::string timestamp = {};  // as written; empty: unknown
  // Set where metadata.json is there and cannot be used, or contradicts the name.
  std::string problem = {};
  bool metadata_readable = true;  // or absent
  friend bool operator==(const StepInfo&, const StepInfo&) = default;
};

enum class LatestBy {
  kStep,       // greatest (step, timestamp)
  kTimestamp,  // greatest (timestamp, step), as eformer chooses
};

// The positions of the committed ones, the latest first.  One whose metadata cannot be read is
// behind all others, and what is not known is behind what is.  Times are compared as written unless
// all of them have a zone, so that no zone is made up.
std::vector<size_t> LatestFirst(std::span<const StepInfo> steps, LatestBy by = LatestBy::kStep);

// The first of these; nullopt: none is committed.
std::optional<size_t> LatestStep(std::span<const StepInfo> steps, LatestBy by = LatestBy::kStep);

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_STEP_INFO_H_
