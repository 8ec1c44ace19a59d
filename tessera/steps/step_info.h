// What is known of one checkpoint of a run, and which of them is the latest.
#ifndef TESSERA_STEPS_STEP_INFO_H_
#define TESSERA_STEPS_STEP_INFO_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::steps {

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
  bool deleting = false;          // a deletion was begun and is to be ended
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
