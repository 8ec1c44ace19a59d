// Loads a checkpoint into the structure of a tree that the caller has, also where shapes differ.
#ifndef TESSERA_STEPS_LOAD_LIKE_H_
#define TESSERA_STEPS_LOAD_LIKE_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/load_tree.h"
#include "tessera/checkpoint/open.h"
#include "tessera/ledger/structure.h"

namespace tessera::steps {

// What was done so that an array fits the template.
enum class Fit {
  kFirstOfLeading,  // the stored one has one more dimension in front: its first entry
  kReshaped,        // as many elements in another shape
  kCast,            // the template's dtype
  kTemplateValue,   // not stored, or in a shape that nothing can be made of
};

// "first of leading", "reshaped", "cast", "template value".
std::string_view FitName(Fit fit);

struct FitChange {
  std::string name;
  Fit fit = Fit::kTemplateValue;
  std::string detail;  // "stored as float32[2,3], wanted float32[6]"
  friend bool operator==(const FitChange&, const FitChange&) = default;
};

struct LoadedLike {
  array::ValueTree tree;
  std::vector<FitChange> changes;  // in leaf order; none when strict
  checkpoint::LoadReport report;   // of the arrays that fit as they are
};

// The tree of `like`, its arrays from the checkpoint by name, each with the template's sharding
// where the request does not say another.  Values that are no arrays are those of `saved` where it
// has one by that name, else the template's.
//
// Strict: FailedPrecondition, naming all of them, for arrays that are missing or have another shape
// or dtype.  Else what can be made to fit is, through host memory, and the template's own value
// stands in for the rest; every change is in the result.  The callback gets the fitted array, and
// is not called for values of the template.
//
// `settings` has no target and selects no arrays.
absl::StatusOr<LoadedLike> LoadLike(const checkpoint::Checkpoint& checkpoint,
                                    const checkpoint::LoadSettings& settings,
                                    const array::ValueTree& like, const ledger::SavedTree& saved,
                                    bool strict, std::stop_token stop = {});

}  // namespace tessera::steps

#endif  // TESSERA_STEPS_LOAD_LIKE_H_
