// Addresses in Google Cloud Storage: gs://bucket/object.
#ifndef TESSERA_STORE_GCS_PATH_H_
#define TESSERA_STORE_GCS_PATH_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tessera::store {

struct GcsPath {
  std::string bucket;
  std::string object;  // empty: the bucket itself
  friend bool operator==(const GcsPath&, const GcsPath&) = default;
};

// Does the text begin with exactly "gs://"?
bool IsGcsPath(std::string_view path);

// Splits at the first '/' after the scheme; further slashes belong to the object.
// InvalidArgument for another scheme and for an empty bucket.
absl::StatusOr<GcsPath> ParseGcsPath(std::string_view path);

}  // namespace tessera::store

#endif  // TESSERA_STORE_GCS_PATH_H_
