// One measurement: rounds of work of which the last is timed, and what is printed about it.
//
// Every program of the suite prints one JSON line of the same members, so that run.py can hold one
// against the other.
#ifndef TESSERA_BENCH_OURS_WORKER_H_
#define TESSERA_BENCH_OURS_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/strided.h"

namespace tessera::bench {

struct Measured {
  double seconds = 0;
  // The most resident memory while it ran, over what there was before.
  int64_t peak_bytes = 0;
};

// A member of the line that only some verbs have.
struct Field {
  std::string name;
  std::variant<int64_t, double> value;
};

struct Result {
  Measured measured = {};
  int64_t bytes = 0;                       // decoded ones that were moved
  std::optional<std::string> digest = {};  // of Digest
  std::vector<Field> more = {};
};

// {"seconds": 1.25, "peak_mib": 2100.5, "bytes": 64, "digest": "0123456789abcdef", ...}
std::string JsonLine(const Result& result);

// Calls `prepare` and then `work`, `warm` times and once more, and measures that last `work`.
// `prepare` drops what the round before has left, in memory and on disk.
absl::StatusOr<Measured> Measure(int64_t warm, absl::FunctionRef<absl::Status()> prepare,
                                 absl::FunctionRef<absl::Status()> work);

// Deletes a file, or a folder with all that is in it; nothing there is no error.
absl::Status Remove(const std::string& path);

// NotFound, naming it, unless there is such a folder or file.
absl::Status CheckThere(const std::string& path);

// XXH3 with 64 bits and seed 0 over all that is added.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void Add(std::span<const std::byte> data);
  void Add(std::string_view text);
  // The elements in C order.
  absl::Status Add(const ConstStridedView& elements);

  // 16 lower-case digits.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_OURS_WORKER_H_
