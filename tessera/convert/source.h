// ConvertSource: all arrays of what is converted, with the prefixes they are stored under.
#ifndef TESSERA_CONVERT_SOURCE_H_
#define TESSERA_CONVERT_SOURCE_H_

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/convert/request.h"
#include "tessera/core/io_context.h"

namespace tessera::convert {

// The arrays of one prefix; "" for those without one.
struct SourceList {
  std::string prefix;
  checkpoint::Checkpoint checkpoint;
};

// One array, and the checkpoint that it is of.
struct SourceArray {
  const SourceList* list = nullptr;
  const checkpoint::CheckpointArray* array = nullptr;
};

struct ConvertSource {
  std::vector<SourceList> lists;
  // Keys are shown with their prefix before them: there are several, and none was chosen.
  bool shows_prefixes = false;
  // Names what is there: another one once the source was replaced.  Chunks that nobody vouches for
  // may be changed in place without it.
  std::string state = {};
  // Text of checkpoint_metadata.json, where there is one.
  std::optional<std::string> checkpoint_metadata = {};

  // In order.  Lives as long as the source does, and does not move.
  std::vector<SourceArray> Arrays() const;
};

// `prefix`: the only one that is wanted.  Errors of Checkpoint::OpenAt; Aborted when a save
// replaced the source while it was opened.
absl::StatusOr<ConvertSource> OpenSource(std::string_view location,
                                         const std::optional<std::string>& prefix, IoContext& io,
                                         std::stop_token stop = {});

// The format that the source is in.  InvalidArgument for a folder with arrays of both versions of
// zarr, which no conversion makes.
absl::StatusOr<TargetFormat> FormatOf(const ConvertSource& source);

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_SOURCE_H_
