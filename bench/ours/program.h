// What bench_ours and bench_limits have in common: a table of verbs and their arguments.
//
//   PROGRAM VERB name=value ...
//
// prints one JSON line.  Every verb also takes warm=N, rounds before the measured one; threads=N,
// all cores unless given; and digest=0.  Exit status 0; 1 after an error, with a message; 3 for a
// verb that is not there, with those that are.
#ifndef TESSERA_BENCH_OURS_PROGRAM_H_
#define TESSERA_BENCH_OURS_PROGRAM_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/ours/worker.h"

namespace tessera::bench {

// Values by name.
class Arguments {
 public:
  // InvalidArgument for a word without '=' and for a name that stands twice.
  static absl::StatusOr<Arguments> Parse(std::span<const std::string_view> words);

  // InvalidArgument, naming it, when one of these is missing or another one is there.  `names` are
  // separated by blanks; those in brackets may be missing.
  absl::Status Check(std::string_view names) const;

  bool Has(std::string_view name) const { return values_.contains(std::string(name)); }
  // Each: InvalidArgument, naming it, for a value that is not of the kind.  REQUIRES of those
  // without a fallback: Check has seen that it is there.
  std::string Text(std::string_view name) const;
  absl::StatusOr<int64_t> Count(std::string_view name) const;  // from 0 up
  absl::StatusOr<int64_t> CountOr(std::string_view name, int64_t fallback) const;
  absl::StatusOr<bool> FlagOr(std::string_view name, bool fallback) const;  // 0 or 1
  // One of `known`, whose first is the fallback.
  absl::StatusOr<std::string> Choice(std::string_view name,
                                     std::span<const std::string_view> known) const;

  // Those that all verbs take.
  absl::StatusOr<int64_t> warm() const { return CountOr("warm", 0); }
  absl::StatusOr<bool> digest() const { return FlagOr("digest", true); }

 private:
  std::map<std::string, std::string> values_;
};

struct Verb {
  std::string_view name;
  std::string_view arguments;  // as Arguments::Check takes them
  absl::StatusOr<Result> (*run)(const Arguments& arguments);
};

// The whole of main().
int RunProgram(std::string_view program, std::span<const Verb> verbs, int argc, char** argv);

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_OURS_PROGRAM_H_
