// A store of keys and values in the memory of one process, for tests of what ranks say through one.
#ifndef TESSERA_COMM_TESTING_MEMORY_KEY_VALUES_H_
#define TESSERA_COMM_TESTING_MEMORY_KEY_VALUES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/key_value.h"
#include "tessera/core/mutex.h"

namespace tessera::comm::testing {

// Thread-safe.
class MemoryKeyValues {
 public:
  // A client that must not outlive this.
  std::shared_ptr<KeyValueClient> MakeClient();

  absl::Status Set(std::string_view key, std::span<const std::byte> value);
  absl::StatusOr<std::optional<Bytes>> Get(std::string_view key, std::chrono::milliseconds timeout);
  absl::StatusOr<std::vector<KeyValue>> List(std::string_view folder);
  absl::Status Delete(std::string_view key);

  // From now on every call fails.
  void Fail(const absl::Status& why);

  std::vector<std::string> Keys();

  // The largest value there ever was, and the most bytes at one time.
  size_t largest();
  size_t most();

 private:
  Mutex mutex_;
  CondVar changed_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Bytes, std::less<>> values_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t largest_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t most_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::comm::testing

#endif  // TESSERA_COMM_TESTING_MEMORY_KEY_VALUES_H_
