// Catalogue: the checkpoints of a run, found in a store.
//
// A run keeps them as folders run-<step> below its base.  Candidates are these, every other folder
// directly below the base that holds a metadata.json, as eformer looks for them, and the base
// itself if it holds one.
//
// A checkpoint is committed when its metadata.json, which is written after everything else, can be
// read.  Where it has none or a broken one: when its index can be read, no save of tessera is
// unfinished in it (nothing lies below .tessera/saves/) and no Checkpointer has it under way
// (step_mark.h); so checkpoints that were saved without a step count as well, and a step of several
// prefixes of which some are missing does not.  One that is being deleted never is.
#ifndef TESSERA_STEPS_CATALOGUE_H_
#define TESSERA_STEPS_CATALOGUE_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/steps/step_info.h"
#include "tessera/store/kv_store.h"

namespace tessera::steps {

struct Catalogue {
  std::vector<StepInfo> steps;   // by step, then by path; without a step: before all others
  std::optional<size_t> latest;  // of the committed ones
};

// "run-1000".
std::string RunFolderName(int64_t step);
// The step of such a name; nullopt for other names, those with signs or leading zeros included.
std::optional<int64_t> StepOfRunFolder(std::string_view name);

// `base` is a key prefix without '/' at its end; empty: the store's root.  The step of a folder
// run-<step> is that of its name, whatever its metadata says: eformer may write -1 there.  Broken
// files are told of in StepInfo::problem; only errors of the store are errors.
absl::StatusOr<Catalogue> ReadCatalogue(store::KvStore& store, std::string_view base,
                                        LatestBy latest_by = LatestBy::kStep,
                                        std::stop_token stop = {});

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_CATALOGUE_H_
