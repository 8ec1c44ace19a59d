// Who is at work: a record names its process, so that others can tell whether it still runs.
#ifndef TESSERA_COMMIT_OWNER_H_
#define TESSERA_COMMIT_OWNER_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"

namespace tessera::commit {

// A process.  A number alone is used again, hence the time of its start; and it means something
// only in the namespace and since the boot that it was given in.
struct Owner {
  int64_t pid = 0;
  uint64_t start = 0;         // in clock ticks since the boot
  std::string pid_namespace;  // empty: unknown
  std::string boot;           // empty: unknown
  std::string machine;        // empty: unknown
  std::string host;
  friend bool operator==(const Owner&, const Owner&) = default;
};

Owner ThisProcess();

Json ToJson(const Owner& owner);
absl::StatusOr<Owner> OwnerFromJson(const ObjectReader& reader);

// Registers an id as being worked on by this process while it lives.  Thread-safe.
class LiveId {
 public:
  explicit LiveId(std::string id);
  ~LiveId();
  LiveId(const LiveId&) = delete;
  LiveId& operator=(const LiveId&) = delete;

  const std::string& id() const { return id_; }

 private:
  const std::string id_;
};

enum class Liveness {
  kAlive,
  kDead,     // for certain
  kExpired,  // cannot be told, but its lease has passed
};

// Of what `owner` does under the name of `id` since then (seconds of Unix time).  A process on
// another machine, or in another namespace of this one, is believed to run until its lease ends.
Liveness LivenessOf(const Owner& owner, std::string_view id, int64_t since,
                    std::chrono::seconds lease);

// Seconds of Unix time, and as text: "2026-01-31T12:00:00Z".
int64_t Now();
std::string TimeText(int64_t seconds);

// "process 12 on 'host' since 2026-01-31T12:00:00Z".
std::string Describe(const Owner& owner, int64_t since);

// A new one each time, also in other processes: 15 characters of time, '-' and 16 digits.
std::string NewId();
bool IsId(std::string_view text);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_OWNER_H_
