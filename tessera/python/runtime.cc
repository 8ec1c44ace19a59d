#include "tessera/python/runtime.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "tessera/core/environment.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/device/host_platform.h"

namespace tessera::python {
namespace {

// The number that a variable holds; 0 where it is not set.
absl::StatusOr<int64_t> FromEnvironment(const char* name,
                                        absl::StatusOr<int64_t> (*parse)(std::string_view)) {
  const std::optional<std::string> text = GetEnvironment(name);
  if (!text.has_value() || text->empty()) return 0;
  const absl::StatusOr<int64_t> number = parse(*text);
  if (!number.ok()) return Prefixed(number.status(), name);
  if (*number < 1) return InvalidArgument(name, " is ", *text, "; expected at least 1");
  return *number;
}

}  // namespace

OfThisProcess::OfThisProcess() : process_id_(getpid()) {}

OfThisProcess::operator bool() const { return getpid() == process_id_; }

absl::StatusOr<std::shared_ptr<Runtime>> Runtime::Make(int process, std::vector<int64_t> devices,
                                                       int threads, int64_t budget_bytes) {
  IoOptions options;
  TESSERA_ASSIGN_OR_RETURN(const int64_t set_threads,
                           FromEnvironment("TESSERA_THREADS", ParseInteger));
  TESSERA_ASSIGN_OR_RETURN(const int64_t set_bytes, FromEnvironment("TESSERA_MEMORY", ParseSize));
  if (threads == 0) threads = static_cast<int>(set_threads);
  if (budget_bytes == 0) budget_bytes = set_bytes;
  if (threads > 0) options = {.in_flight = 2 * threads, .compute = threads};
  if (budget_bytes > 0) options.budget_bytes = budget_bytes;
  const auto count = static_cast<int64_t>(devices.size());
  TESSERA_ASSIGN_OR_RETURN(
      std::unique_ptr<device::Platform> platform,
      device::MakeHostPlatform({.count = count, .process = process, .ids = std::move(devices)}));
  return std::shared_ptr<Runtime>(
      new Runtime(std::make_unique<IoContext>(options), std::move(platform)),
      [here = OfThisProcess()](Runtime* runtime) {
        if (here) delete runtime;
      });
}

}  // namespace tessera::python
