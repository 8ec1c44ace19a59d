#include "tessera/store/gcs_path.h"

#include "tessera/core/status.h"

namespace tessera::store {
namespace {
constexpr std::string_view kScheme = "gs://";
}  // namespace

bool IsGcsPath(std::string_view path) { return path.starts_with(kScheme); }

absl::StatusOr<GcsPath> ParseGcsPath(std::string_view path) {
  if (!IsGcsPath(path)) {
    return InvalidArgument("'", path, "' is no Cloud Storage path; expected gs://bucket/object");
  }
  const std::string_view rest = path.substr(kScheme.size());
  const size_t slash = rest.find('/');
  const std::string_view bucket = rest.substr(0, slash);
  if (bucket.empty())
    return InvalidArgument("'", path, "' names no bucket; expected gs://bucket/object");
  const std::string_view object =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  return GcsPath{std::string(bucket), std::string(object)};
}

}  // namespace tessera::store
