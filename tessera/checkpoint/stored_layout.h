// Where arrays of a checkpoint lie and how they are compressed: what whoever writes one agrees on.
#ifndef TESSERA_CHECKPOINT_STORED_LAYOUT_H_
#define TESSERA_CHECKPOINT_STORED_LAYOUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/core/dtype.h"

namespace tessera::checkpoint {

// Folders of a prefix, as eformer makes them.  InvalidArgument for a prefix with nothing between
// two of its dots and slashes.
absl::StatusOr<std::vector<std::string>> PrefixFolders(std::string_view prefix);

// The codecs for elements of this size: shuffling is told how long they are, as v2 readers take it
// from the dtype.
CodecList CodecsFor(CodecList codecs, DType dtype);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_STORED_LAYOUT_H_
