// Convert: a checkpoint of one format becomes one of another, within a budget of memory.
//
// docs/convert.md tells what is kept, what is on disk meanwhile and what a crash leaves.
#ifndef TESSERA_CONVERT_CONVERT_H_
#define TESSERA_CONVERT_CONVERT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/comm/comm.h"
#include "tessera/convert/plan.h"
#include "tessera/convert/request.h"
#include "tessera/core/io_context.h"

namespace tessera::convert {

struct ConvertContext {
  IoContext& io;
  // With several ranks each copies its share; all see the same file system.  nullptr: alone.
  comm::Comm* comm = nullptr;
  // Of each call among the ranks, in which one may wait for the copying of another.
  comm::Limit limit = {.timeout = std::chrono::hours(24)};
};

// Of this rank.
struct ConvertProgress {
  enum class Phase { kCopy, kVerify };
  Phase phase = Phase::kCopy;
  int64_t bytes_done = 0;  // of new arrays
  int64_t bytes_total = 0;
  int64_t arrays_done = 0;
  int64_t arrays_total = 0;
};

struct ConvertReport {
  int64_t arrays = 0;
  int64_t nbytes = 0;  // of all new arrays
  double seconds = 0;
  double seconds_verify = 0;   // of those
  int64_t copied_arrays = 0;   // of which at least a part was copied now
  int64_t resumed_arrays = 0;  // that an interrupted conversion had copied
  int64_t peak_bytes = 0;      // of the budget, on this rank
  std::string plan;            // as text
  // Where chunks follow shards: keys that no rule takes, and what was corrected in specs.
  std::vector<std::string> unmatched;
  std::vector<std::string> corrections;
};

// Told now and then, by one thread at a time.
using ConvertListener = std::function<void(const ConvertProgress&)>;

// Reads the checkpoint at `source` (open_location.h) and makes one at `destination`, a path or a
// file:// URL.  Nothing is seen there before everything is written and verified.  Collective; all
// ranks give the same arguments, and get the same result but for times and peak.
//
// AlreadyExists when something is at the destination and the request does not say to overwrite it;
// FailedPrecondition when what is there is no checkpoint, or the file system cannot replace it in
// one step; InvalidArgument when one of the two lies inside the other; Aborted while another
// process converts to the same destination, and when the source was changed meanwhile; DataLoss
// when what was written is not what was read; Cancelled once `stop` is requested.  Errors of
// PlanConvert. What was copied until then stays for the next call with the same arguments.
absl::StatusOr<ConvertReport> Convert(std::string_view source, std::string_view destination,
                                      const ConvertRequest& request, const ConvertContext& context,
                                      const ConvertListener& progress = nullptr,
                                      std::stop_token stop = {});

// What Convert would do.  Nothing is written.  The same errors, as far as they can be known.
absl::StatusOr<ConvertPlan> PlanConversion(std::string_view source, std::string_view destination,
                                           const ConvertRequest& request,
                                           const ConvertContext& context,
                                           std::stop_token stop = {});

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_CONVERT_H_
