// <prefix>_structure.json of a tree: made for a save, and turned back into a tree.
#ifndef TESSERA_STEPS_PYTREE_FILE_H_
#define TESSERA_STEPS_PYTREE_FILE_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/save_options.h"
#include "tessera/commit/transaction.h"
#include "tessera/ledger/structure.h"

namespace tessera::steps {

// The file that belongs to a save of `tree` by so many ranks with these options.  `extras` is a
// JSON object. InvalidArgument, naming each, for leaves whose value cannot be kept; else errors of
// PlanSave and ledger::MakePytreeStructure.
absl::StatusOr<commit::SideFile> MakeStructureFile(const array::ValueTree& tree,
                                                   const checkpoint::PlanOptions& options,
                                                   const std::string& extras, int ranks = 1);

// The tree that was saved; its arrays are numbered as checkpoint.arrays() is.  What tessera keeps
// in the index counts; else the file, which other writers leave alone.  NotFound without either;
// FailedPrecondition, naming each, for arrays that the file lists and the index does not.  A tree
// definition that cannot be read without running it is logged, and dicts take its place.
absl::StatusOr<ledger::SavedTree> ReadSavedTree(const checkpoint::Checkpoint& checkpoint,
                                                std::stop_token stop = {});

// What stands at a leaf that is no array.
array::Opaque SavedValue(const ledger::SavedLeaf& leaf);

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_PYTREE_FILE_H_
