// Codec "auto" for a save: what the arrays of each dtype are compressed with.
#ifndef TESSERA_CHECKPOINT_SAVE_CODEC_H_
#define TESSERA_CHECKPOINT_SAVE_CODEC_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/snapshot.h"

namespace tessera::checkpoint {

// One choice for each dtype that has enough bytes to be worth it, by samples of the largest parts
// in the snapshot.  `threads`: that encode at once, on all ranks.
absl::StatusOr<std::vector<DTypeCodec>> ChooseCodecs(const SavePlan& plan, const Snapshot& snapshot,
                                                     const AutoCodec& options, int threads);

// Choices as text, for other ranks.
std::string EncodeCodecs(std::span<const DTypeCodec> choices);
// Internal when `text` is nothing of the kind.
absl::StatusOr<std::vector<DTypeCodec>> DecodeCodecs(std::string_view text);

}  // namespace tessera::checkpoint

#endif  // TESSERA_CHECKPOINT_SAVE_CODEC_H_
