#include "tessera/device/available_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "tessera/core/status.h"

namespace tessera::device {
namespace {

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number that `text` begins with, behind blanks.  Text such as "max" is none, and so is what
// version 1 writes where there is no limit: a number past any memory.
std::optional<int64_t> LeadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || number < 0) return std::nullopt;
  return number;
}

// The number behind `name` at the beginning of a line.
std::optional<int64_t> NamedNumber(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::string_view(line).substr(0, name.size()) == name) {
      return LeadingNumber(std::string_view(line).substr(name.size()));
    }
  }
  return std::nullopt;
}

// What the files of one version of control groups are called.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* inactive;  // in memory.stat
};
constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                  "total_inactive_file "};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file "};

// What is left in the group whose files lie in `folder`; nullopt: it has no limit.
std::optional<int64_t> LeftInGroup(const std::string& folder, const GroupFiles& files) {
  const auto limit = LeadingNumber(ReadText(folder + files.limit).value_or(""));
  const auto usage = LeadingNumber(ReadText(folder + files.usage).value_or(""));
  if (!limit.has_value() || !usage.has_value()) return std::nullopt;
  const auto statistics = ReadText(folder + "/memory.stat").value_or("");
  const int64_t inactive = NamedNumber(statistics, files.inactive).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - inactive));
}

// The least that is left in the group at `path` below `mount` and in all above it.  A path as the
// host knows it does not exist inside of a container, whose own group is then the mount itself.
std::optional<int64_t> LeftUpwards(const std::string& mount, std::string path,
                                   const GroupFiles& files) {
  std::optional<int64_t> least;
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    const auto left = LeftInGroup(mount + path, files);
    if (left.has_value()) least = std::min(*left, least.value_or(*left));
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool ListsMemory(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// A line of /proc/self/cgroup is number:controllers:path; version 2 names no controllers.
std::optional<int64_t> LeftByLine(const std::string& root, const std::string& line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string path = line.substr(second + 1);
  const std::string mount = root + "/sys/fs/cgroup";
  if (controllers.empty()) return LeftUpwards(mount, path, kVersion2);
  return ListsMemory(controllers) ? LeftUpwards(mount + "/memory", path, kVersion1) : std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> AvailableHostMemory(const std::string& root) {
  const std::string path = root + "/proc/meminfo";
  const auto kibibytes = NamedNumber(ReadText(path).value_or(""), "MemAvailable:");
  if (!kibibytes.has_value()) {
    return NotFound("the system does not say how much memory is available: ", path,
                    " has no line 'MemAvailable:'");
  }
  TESSERA_ASSIGN_OR_RETURN(int64_t available, CheckedProduct(*kibibytes, 1024));
  std::istringstream lines(ReadText(root + "/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    available = std::min(available, LeftByLine(root, line).value_or(available));
  }
  return available;
}

MemoryEstimate EstimateAvailableMemory(int64_t host_available,
                                       std::span<const std::unique_ptr<Device>> devices) {
  int64_t bytes = host_available / 2;
  for (const auto& device : devices) {
    const int64_t limit = device->limit();
    if (limit == kNoLimit) continue;
    const auto share = static_cast<int64_t>(static_cast<double>(limit) * 0.4);
    bytes = std::min({bytes, share, limit - device->in_use()});
  }
  if (bytes >= kLeastMemoryEstimate) return {bytes, false};
  return {kLeastMemoryEstimate, true};
}

absl::StatusOr<MemoryEstimate> EstimateAvailableMemory(const Platform& platform) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t host, AvailableHostMemory());
  return EstimateAvailableMemory(host, platform.devices());
}

}  // namespace tessera::device
