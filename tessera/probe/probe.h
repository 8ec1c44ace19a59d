// ProbeStorage: what a storage can do, measured within bounds of time and space.
#ifndef TESSERA_PROBE_PROBE_H_
#define TESSERA_PROBE_PROBE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/probe/report.h"

namespace tessera::probe {

inline constexpr int64_t kDefaultSize = int64_t{256} << 20;
inline constexpr int64_t kLeastSize = int64_t{1} << 20;
inline constexpr double kDefaultSeconds = 20;

struct ProbeOptions {
  // About as long as it takes; a single call of the system may take longer.
  double seconds = kDefaultSeconds;
  // The most bytes that lie on the disk at a time, small files aside.  nullopt: kDefaultSize or a
  // tenth of what is free, whichever is less.
  std::optional<int64_t> size = {};
  // Told which part begins, by the thread that called.
  std::function<void(std::string_view part)> on_part = {};
};

// Works in a folder of its own below the folder `path`, which is gone when the call returns,
// however it ends; folders that killed runs have left there go as well.  NotFound when there is no
// `path`, InvalidArgument when it is no folder or an option is senseless, PermissionDenied when
// nothing can be written there, ResourceExhausted when there is no space, Cancelled once stopped.
absl::StatusOr<ProbeReport> ProbeStorage(const std::string& path, const ProbeOptions& options = {},
                                         std::stop_token stop = {});

}  // namespace tessera::probe

#endif  // TESSERA_PROBE_PROBE_H_
