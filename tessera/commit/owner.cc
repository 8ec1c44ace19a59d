#include "tessera/commit/owner.h"

#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "tessera/core/hash128.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::commit {
namespace {

constexpr size_t kTimeLength = 15;
constexpr size_t kIdLength = kTimeLength + 1 + 16;

// The first line of a small file of the system; empty when it cannot be read.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct ProcessState {
  char state = '?';
  uint64_t start = 0;
};

// From /proc/<pid>/stat; nullopt when it cannot be read.
std::optional<ProcessState> StateOf(int64_t pid) {
  const std::string line = FirstLine(Concat("/proc/", pid, "/stat"));
  // The name, in parentheses, may hold anything.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return std::nullopt;
  std::string_view rest = std::string_view(line).substr(name_end + 2);
  ProcessState state{rest[0]};
  constexpr int kFieldsToStart = 19;  // from the state, which is the third, to the 22nd
  for (int i = 0; i < kFieldsToStart; ++i) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), state.start);
  if (error != std::errc()) return std::nullopt;
  return state;
}

bool Runs(int64_t pid, uint64_t start) {
  if (pid <= 0 || static_cast<pid_t>(pid) != pid) return false;
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  const auto state = StateOf(pid);
  // It is there, but is not to be looked at: whether it is the same one cannot be told.
  if (!state.has_value()) return true;
  const bool ended = state->state == 'Z' || state->state == 'X';
  return !ended && state->start == start;
}

class LiveTable {
 public:
  void Add(const std::string& id) {
    MutexLock lock(mutex_);
    ids_.insert(id);
  }
  void Remove(const std::string& id) {
    MutexLock lock(mutex_);
    ids_.erase(id);
  }
  bool Has(std::string_view id) {
    MutexLock lock(mutex_);
    return ids_.contains(id);
  }

 private:
  Mutex mutex_;
  std::set<std::string, std::less<>> ids_ ABSL_GUARDED_BY(mutex_);
};

// What a process works on is a fact about the process, whoever of its parts asks.
LiveTable& Table() {
  static LiveTable& table = *new LiveTable;
  return table;
}

Liveness ByLease(int64_t since, std::chrono::seconds lease) {
  // Compared so that no time in a record can overflow.
  const int64_t now = Now();
  return since < now - std::min<int64_t>(lease.count(), now) ? Liveness::kExpired
                                                             : Liveness::kAlive;
}

std::string FormatTime(int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  std::array<char, 64> text = {};
  const size_t length = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), length};
}

}  // namespace

Owner ThisProcess() {
  Owner owner;
  owner.pid = getpid();
  const auto state = StateOf(owner.pid);
  if (state.has_value()) owner.start = state->start;
  std::array<char, 128> link = {};
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  if (length > 0) owner.pid_namespace.assign(link.data(), static_cast<size_t>(length));
  owner.boot = FirstLine("/proc/sys/kernel/random/boot_id");
  owner.machine = FirstLine("/etc/machine-id");
  utsname name = {};
  if (uname(&name) == 0) owner.host = name.nodename;
  return owner;
}

Json ToJson(const Owner& owner) {
  return {
      {"pid", owner.pid},   {"start", Concat(owner.start)}, {"pid_namespace", owner.pid_namespace},
      {"boot", owner.boot}, {"machine", owner.machine},     {"host", owner.host}};
}

absl::StatusOr<Owner> OwnerFromJson(const ObjectReader& reader) {
  Owner owner;
  TESSERA_ASSIGN_OR_RETURN(owner.pid, reader.Integer("pid"));
  TESSERA_ASSIGN_OR_RETURN(const std::string start, reader.String("start"));
  const auto [end, error] = std::from_chars(start.data(), start.data() + start.size(), owner.start);
  if (error != std::errc() || end != start.data() + start.size()) {
    return InvalidArgument(reader.PathOf("start"), ": expected a number, found ", Quoted(start));
  }
  TESSERA_ASSIGN_OR_RETURN(owner.pid_namespace, reader.String("pid_namespace"));
  TESSERA_ASSIGN_OR_RETURN(owner.boot, reader.String("boot"));
  TESSERA_ASSIGN_OR_RETURN(owner.machine, reader.String("machine"));
  TESSERA_ASSIGN_OR_RETURN(owner.host, reader.String("host"));
  return owner;
}

LiveId::LiveId(std::string id) : id_(std::move(id)) { Table().Add(id_); }
LiveId::~LiveId() { Table().Remove(id_); }

Liveness LivenessOf(const Owner& owner, std::string_view id, int64_t since,
                    std::chrono::seconds lease) {
  const Owner me = ThisProcess();
  if (owner == me) return Table().Has(id) ? Liveness::kAlive : Liveness::kDead;
  if (owner.boot.empty() || me.boot.empty()) return ByLease(since, lease);
  if (owner.boot != me.boot) {
    // Machines made from one image may share their id, but hardly their name as well.
    const bool rebooted =
        !owner.machine.empty() && owner.machine == me.machine && owner.host == me.host;
    return rebooted ? Liveness::kDead : ByLease(since, lease);
  }
  if (owner.pid_namespace.empty() || owner.pid_namespace != me.pid_namespace) {
    return ByLease(since, lease);
  }
  return Runs(owner.pid, owner.start) ? Liveness::kAlive : Liveness::kDead;
}

int64_t Now() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

std::string TimeText(int64_t seconds) { return FormatTime(seconds, "%Y-%m-%dT%H:%M:%SZ"); }

std::string Describe(const Owner& owner, int64_t since) {
  return Concat("process ", owner.pid, " on ", Quoted(owner.host), " since ", TimeText(since));
}

std::string NewId() {
  static std::atomic<uint64_t> counter{0};
  std::random_device random;
  // The device may be poor; process, time and counter make up for it.
  const std::string seed =
      Concat(random(), "-", random(), "-", random(), "-", random(), "-", getpid(), "-",
             std::chrono::steady_clock::now().time_since_epoch().count(), "-", counter++);
  return Concat(FormatTime(Now(), "%Y%m%dT%H%M%S"), "-", HashOf(seed).Hex().substr(0, 16));
}

bool IsId(std::string_view text) {
  if (text.size() != kIdLength || text[8] != 'T' || text[kTimeLength] != '-') return false;
  return text.find_first_not_of("0123456789abcdefT-") == std::string_view::npos;
}

}  // namespace tessera::commit
