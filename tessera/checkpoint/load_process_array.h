// One array of a flat state: read, placed, passed to a callback, cast.
#ifndef TESSERA_CHECKPOINT_LOAD_PROCESS_ARRAY_H_
#define TESSERA_CHECKPOINT_LOAD_PROCESS_ARRAY_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/device/device.h"

namespace tessera::checkpoint {

using ValueFunction = std::function<absl::StatusOr<array::Value>(array::Value value)>;

struct ReadProcessArrayOptions {
  // By key.  Empty: nothing is placed and nothing can be missing.
  std::map<std::string, ValueFunction> functions = {};
  // A key without a function is counted; else NotFound.
  bool mismatch_allowed = true;
  std::function<absl::StatusOr<array::Value>(array::Value value, std::string_view key)> callback =
      nullptr;
  // A name as ParseDTypeAlias takes it; empty: no cast.  Only float16, bfloat16, float32 and
  // float64 are cast.
  std::string dtype = {};
};

struct ProcessedArray {
  std::string key;
  array::Value value;
  int mismatch = 0;  // 1: the key has no function
};

// What `read` gives for the key, then the key's function, the callback and the cast, in this order.
// Errors of each name the key; InvalidArgument for an unknown dtype, before anything is read.
// Arrays on devices are cast on `platform`.
absl::StatusOr<ProcessedArray> ReadProcessArray(
    std::string_view key, const std::function<absl::StatusOr<array::Value>(std::string_view)>& read,
    device::Platform& platform, const ReadProcessArrayOptions& options = {});

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_LOAD_PROCESS_ARRAY_H_
