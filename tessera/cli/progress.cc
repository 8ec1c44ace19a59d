#include "tessera/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tessera/core/sizes.h"

namespace tessera::cli {
namespace {

using std::chrono::milliseconds;

// The first line comes after this time, the others one interval apart.
constexpr milliseconds kTerminalInterval(150);
constexpr milliseconds kPlainInterval(3000);

milliseconds IntervalOf(const Terminal& terminal) {
  return terminal.is_terminal ? kTerminalInterval : kPlainInterval;
}

void WriteAll(int descriptor, std::string_view text) {
  // Progress that cannot be shown is not worth stopping for.
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string TimeText(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 59) / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string ProgressText(const std::string& what, const ProgressState& state, double seconds,
                         int columns) {
  std::vector<std::string> parts;
  if (state.bytes_total > 0) {
    parts.push_back(fmt::format("{} of {} ({}%)", SizeText(state.bytes_done),
                                SizeText(state.bytes_total),
                                static_cast<int64_t>(100.0 * static_cast<double>(state.bytes_done) /
                                                     static_cast<double>(state.bytes_total))));
  }
  if (state.arrays_total > 0) {
    parts.push_back(fmt::format("{} of {} arrays", CountText(state.arrays_done),
                                CountText(state.arrays_total)));
  }
  if (state.bytes_done > 0 && seconds > 0) {
    const double speed = static_cast<double>(state.bytes_done) / seconds;
    parts.push_back(fmt::format("{:.2f} GB/s", speed / 1e9));
    const auto left = static_cast<double>(state.bytes_total - state.bytes_done);
    if (left > 0) parts.push_back(TimeText(left / speed) + " left");
  }
  std::string text = what;
  for (const std::string& part : parts) {
    if (columns > 0 && text.size() + 2 + part.size() > static_cast<size_t>(columns)) break;
    text += fmt::format("  {}", part);
  }
  return columns > 0 ? text.substr(0, static_cast<size_t>(columns)) : text;
}

ProgressLine::ProgressLine(std::string what, int descriptor, const Terminal& terminal)
    : descriptor_(descriptor),
      terminal_(terminal),
      what_(std::move(what)),
      begin_(Clock::now()),
      next_(begin_ + IntervalOf(terminal)) {}

void ProgressLine::Update(const ProgressState& state) {
  if (descriptor_ < 0) return;
  const Clock::time_point now = Clock::now();
  MutexLock lock(mutex_);
  if (done_ || now < next_) return;
  next_ = now + IntervalOf(terminal_);
  Draw(state, now);
}

void ProgressLine::Begin(std::string what) {
  MutexLock lock(mutex_);
  what_ = std::move(what);
  begin_ = Clock::now();
}

void ProgressLine::Done() {
  MutexLock lock(mutex_);
  if (!done_) Clear();
  done_ = true;
}

void ProgressLine::Draw(const ProgressState& state, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (!terminal_.is_terminal) {
    WriteAll(descriptor_, ProgressText(what_, state, seconds, 0) + "\n");
    return;
  }
  // The last column stays free, as some terminals go to the next line once it is written.
  const std::string text = ProgressText(what_, state, seconds, std::max(1, terminal_.columns - 1));
  WriteAll(descriptor_, fmt::format("\r\x1b[K{}", text));
  drawn_ = true;
}

void ProgressLine::Clear() {
  if (drawn_) WriteAll(descriptor_, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace tessera::cli
