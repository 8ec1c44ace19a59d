// Ending a commit: from the record that makes it to the state that needs no record.
#ifndef TESSERA_COMMIT_ROLL_FORWARD_H_
#define TESSERA_COMMIT_ROLL_FORWARD_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/commit/commit_record.h"
#include "tessera/store/kv_store.h"

namespace tessera::commit {

// More than any record or index has; what is longer is not read to memory.
inline constexpr uint64_t kMostRecordBytes = uint64_t{1} << 30;

// The text under a key and its generation; nullopt: there is none.
struct StoredText {
  std::optional<std::string> text;
  store::Generation generation;
};
absl::StatusOr<StoredText> ReadText(store::KvStore& store, std::string_view key,
                                    const std::stop_token& stop);

// What the index says once the save is in its place.  `now` is the text that is there; one that is
// no index, which a power cut may leave, gives way to the one before the commit.
absl::StatusOr<std::optional<std::string>> IndexAfter(const std::optional<std::string>& now,
                                                      const CommittedSave& save);

// Does what is left to do, in an order in which it can be stopped and begun again at any point, and
// takes the record, which has that generation, away.
absl::Status RollForward(store::KvStore& store, const CommittedSave& save,
                         const store::Generation& generation, const std::stop_token& stop);

// Sleeps, but not past a stop.
void SleepFor(std::chrono::nanoseconds time, const std::stop_token& stop);

}  // namespace tessera::commit

#endif  // TESSERA_COMMIT_ROLL_FORWARD_H_
