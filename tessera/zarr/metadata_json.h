// The documents of each version; metadata.h chooses between them.
#ifndef TESSERA_ZARR_METADATA_JSON_H_
#define TESSERA_ZARR_METADATA_JSON_H_

#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"
#include "tessera/zarr/metadata.h"

namespace tessera::zarr {

// The members that a version defines, in byte order.  All others go to other_members.
std::span<const std::string_view> MembersOfV2();
std::span<const std::string_view> MembersOfV3();

// Look at the form of the members; Validate does the rest.
absl::StatusOr<Metadata> MetadataFromV2(const Json& document);
absl::StatusOr<Metadata> MetadataFromV3(const Json& document);

// Without other_members.  REQUIRES: Validate(metadata) is OK.
Json MetadataToV2(const Metadata& metadata);
Json MetadataToV3(const Metadata& metadata);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_METADATA_JSON_H_
