#include "tessera/convert/destination.h"

#include <filesystem>

#include "tessera/checkpoint/open_location.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/unfolded_store.h"

namespace tessera::convert {
namespace {

constexpr std::string_view kFileEnd = ".safetensors";

// Whether `inner` lies below `outer`.
bool IsInside(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  const std::string below = outer.string() + "/";
  return inner.string().starts_with(below);
}

}  // namespace

absl::StatusOr<DestinationPath> ParseDestination(std::string_view location) {
  if (location.find("://") == std::string_view::npos) {
    return ResolveDestination(std::string(location));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string path, checkpoint::FolderOf(location));
  return ResolveDestination(path);
}

bool IsLoneFile(const DestinationPath& destination, const Target& target) {
  return target.format == TargetFormat::kSafetensors && !target.shard_bytes.has_value() &&
         destination.name.size() > kFileEnd.size() && destination.name.ends_with(kFileEnd);
}

std::string StemOf(const DestinationPath& destination) {
  return destination.name.substr(0, destination.name.size() - kFileEnd.size());
}

absl::Status CheckApart(std::string_view source_location, const ConvertSource& source,
                        const DestinationPath& destination, bool lone_file) {
  TESSERA_ASSIGN_OR_RETURN(const std::string path, checkpoint::FolderOf(source_location));
  std::error_code error;
  const std::filesystem::path from = std::filesystem::canonical(path, error);
  if (error) return absl::OkStatus();  // it was opened, so it is not lost
  const std::filesystem::path to = destination.path();
  if (IsInside(from, to)) {
    return InvalidArgument("the source ", from.string(), " lies inside the destination ",
                           to.string());
  }
  // A file may be put into a folder whose arrays are listed elsewhere.
  const bool listed = source.lists.front().checkpoint.format() != checkpoint::Format::kZarr;
  if (!IsInside(to, from) || (lone_file && listed)) return absl::OkStatus();
  return InvalidArgument("the destination ", to.string(), " lies inside the source ",
                         from.string());
}

absl::Status CheckDestination(const DestinationPath& destination, bool overwrite, IoContext& io,
                              std::stop_token stop) {
  const std::string path = destination.path();
  if (!IsThere(path)) return absl::OkStatus();
  if (!overwrite) {
    return absl::AlreadyExistsError(
        Concat(path, ": it is there already, and is replaced only when asked to overwrite"));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(path, error) || std::filesystem::is_empty(path, error)) {
    return absl::OkStatus();
  }
  const auto there = checkpoint::Checkpoint::OpenAt(
      path, io, {.all_prefixes = true, .verify = false}, std::move(stop));
  if (!absl::IsNotFound(there.status())) return absl::OkStatus();
  return FailedPrecondition(path, ": the folder holds no checkpoint, so it is not overwritten");
}

std::string PathOf(const ConvertPlan& plan, const ConvertArray& array) {
  if (!plan.set.has_value()) return array.place.record.path;
  return safetensors::UnfoldedPath(plan.set->files[array.place.file].name, array.new_key);
}

}  // namespace tessera::convert
