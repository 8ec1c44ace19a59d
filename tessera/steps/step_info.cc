#include "tessera/steps/step_info.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "tessera/ledger/timestamp.h"

namespace tessera::steps {
namespace {

// What a step is chosen by; the greatest wins.
struct Rank {
  bool readable = false;
  std::optional<int64_t> first;
  std::optional<int64_t> second;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

bool AllHaveZones(std::span<const StepInfo> steps) {
  return std::all_of(steps.begin(), steps.end(), [](const StepInfo& step) {
    const auto time = ledger::ParseTimestamp(step.timestamp);
    return !time.ok() || time->ahead_of_utc_us.has_value();
  });
}

Rank RankOf(const StepInfo& step, LatestBy by, bool zones) {
  std::optional<int64_t> time;
  const auto parsed = ledger::ParseTimestamp(step.timestamp);
  if (parsed.ok()) time = ledger::OrderOf(*parsed, zones);
  if (by == LatestBy::kStep) return {step.metadata_readable, step.step, time};
  return {step.metadata_readable, time, step.step};
}

}  // namespace

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
