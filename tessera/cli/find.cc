#include "tessera/cli/find.h"

#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

Option MatchOption() {
  return {
      .name = "--match", .value = "RE", .help = "only keys in which this Python pattern is found"};
}

Option PrefixOption() {
  return {.name = "--prefix", .value = "P", .help = "only the arrays saved under this prefix"};
}

absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& location, const Arguments& arguments,
                                          Context& context, Reads reads) {
  checkpoint::OpenOptions options;
  const std::optional<std::string> prefix = arguments.Text("--prefix");
  options.prefix = prefix.value_or("");
  options.all_prefixes = !prefix.has_value();
  options.metadata_of_manifest = reads == Reads::kMetadata;
  return Checkpoint::OpenAt(location, context.io(), options, context.stop());
}

absl::StatusOr<KeyFilter> KeyFilter::Make(const std::optional<std::string>& match) {
  KeyFilter filter;
  if (!match.has_value()) return filter;
  filter.text_ = *match;
  TESSERA_ASSIGN_OR_RETURN(filter.pattern_, regex::PythonRegex::Compile(*match));
  return filter;
}

absl::StatusOr<bool> KeyFilter::Takes(std::string_view key) const {
  return pattern_.has_value() ? pattern_->Search(key) : true;
}

absl::Status KeyFilter::CheckFound(size_t found, size_t all) const {
  if (found > 0 || !pattern_.has_value()) return absl::OkStatus();
  return NotFound("--match ", Quoted(text_), " is found in none of the ", all,
                  " keys; see tessera ls");
}

absl::StatusOr<std::vector<const CheckpointArray*>> SelectArrays(
    const Checkpoint& checkpoint, const std::optional<std::string>& match) {
  TESSERA_ASSIGN_OR_RETURN(const KeyFilter filter, KeyFilter::Make(match));
  std::vector<const CheckpointArray*> found;
  for (const CheckpointArray& array : checkpoint.arrays()) {
    TESSERA_ASSIGN_OR_RETURN(const bool wanted, filter.Takes(array.name));
    if (wanted) found.push_back(&array);
  }
  TESSERA_RETURN_IF_ERROR(filter.CheckFound(found.size(), checkpoint.arrays().size()));
  return found;
}

absl::StatusOr<const CheckpointArray*> FindArray(const Checkpoint& checkpoint,
                                                 std::string_view key) {
  std::vector<std::string_view> names;
  for (const CheckpointArray& array : checkpoint.arrays()) {
    if (array.name == key) return &array;
    names.push_back(array.name);
  }
  const std::string meant = DidYouMean(key, names);
  return NotFound("no array ", Quoted(key), " among the ", names.size(), " of the checkpoint",
                  meant.empty() ? "; see tessera ls" : meant);
}

}  // namespace tessera::cli
