// How arrays are read by who looks at them.
#ifndef TESSERA_INSPECT_LOOK_POLICY_H_
#define TESSERA_INSPECT_LOOK_POLICY_H_

#include "tessera/checkpoint/load_array.h"

namespace tessera::inspect {

// A chunk that is not there reads as the fill value or zeros, as content hashes and TensorStore
// have it, also in arrays where it must have been lost: a look does not judge, a verification does.
inline constexpr checkpoint::ReadPolicy kLookPolicy = {.verify = true,
                                                       .absent = checkpoint::AbsentChunks::kFill};

}  // namespace tessera::inspect

#endif  // TESSERA_INSPECT_LOOK_POLICY_H_
