// What a person should know of a plan, worst first.
#ifndef TESSERA_EXPLAIN_WARNINGS_H_
#define TESSERA_EXPLAIN_WARNINGS_H_

#include <vector>

#include "tessera/checkpoint/open.h"
#include "tessera/explain/explain_load.h"

namespace tessera::explain {

// Everything but the warnings of `explanation` is there already.  `all_arrays`: it speaks of every
// array of the checkpoint, so that a rule without one is worth a word.
std::vector<Warning> FindWarnings(const checkpoint::Checkpoint& checkpoint,
                                  const LoadExplanation& explanation, bool all_arrays);

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_WARNINGS_H_
