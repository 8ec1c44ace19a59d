// Finding what the words of a command mean: a checkpoint, some of its arrays, one of them.
#ifndef TESSERA_CLI_FIND_H_
#define TESSERA_CLI_FIND_H_

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/checkpoint/open.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/core/natural_order.h"
#include "tessera/regex/python_regex.h"

namespace tessera::cli {

// Those of several verbs.
Option MatchOption();
Option PrefixOption();

// What a verb looks at.  Where metadata is enough, that of a manifest is taken as it is.
enum class Reads { kMetadata, kData };

// At `location`: the prefix that --prefix asks for, else all of them, under keys that begin with
// theirs.  Errors begin with the location.
absl::StatusOr<checkpoint::Checkpoint> OpenCheckpoint(const std::string& location,
                                                      const Arguments& arguments, Context& context,
                                                      Reads reads);

// Keys in which a Python pattern is found; all of them without one.
class KeyFilter {
 public:
  // InvalidArgument for a bad pattern.
  static absl::StatusOr<KeyFilter> Make(const std::optional<std::string>& match);

  absl::StatusOr<bool> Takes(std::string_view key) const;
  // NotFound when there was a pattern that none of `all` keys has.
  absl::Status CheckFound(size_t found, size_t all) const;

 private:
  std::string text_;
  std::optional<regex::PythonRegex> pattern_;
};

// Those in whose name the Python pattern is found, all without one; in the checkpoint's order.
// InvalidArgument for a bad pattern, NotFound when it is in no name.
absl::StatusOr<std::vector<const checkpoint::CheckpointArray*>> SelectArrays(
    const checkpoint::Checkpoint& checkpoint, const std::optional<std::string>& match);

// Sorts pointers to what has a `name` as people count.
template <typename Named>
void SortByName(std::vector<Named*>& items) {
  const auto less = [](const Named* a, const Named* b) { return NaturalLess(a->name, b->name); };
  // As most checkpoints have them.
  if (std::is_sorted(items.begin(), items.end(), less)) return;
  std::stable_sort(items.begin(), items.end(), less);
}

// The array called `key`.  NotFound with the nearest keys.
absl::StatusOr<const checkpoint::CheckpointArray*> FindArray(
    const checkpoint::Checkpoint& checkpoint, std::string_view key);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_FIND_H_
