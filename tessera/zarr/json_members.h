// Pieces that metadata documents are made of.
#ifndef TESSERA_ZARR_JSON_MEMBERS_H_
#define TESSERA_ZARR_JSON_MEMBERS_H_

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/core/json.h"
#include "tessera/core/shape.h"

namespace tessera::zarr {

// {"name": ..., "configuration": {...}}: how v3 writes a grid, a key encoding, a codec, a type.
struct NamedJson {
  std::string name;
  ObjectReader configuration;  // of an empty object when there is none
};

// Also takes the name alone, as text.  `value` must outlive the result.
absl::StatusOr<NamedJson> NamedFromJson(const Json& value, const std::string& path);

// An empty configuration is left out.
Json NamedToJson(std::string_view name, const Json& configuration);

// Unimplemented, with the path of the first, when `object` has members besides `known`: they may
// change what the rest means.
absl::Status RefuseOthers(const ObjectReader& object,
                          std::initializer_list<std::string_view> known);

// Member `field`, which must be one of `known`.  Unimplemented, naming what is, otherwise.
absl::StatusOr<std::string> OneOf(const ObjectReader& object, const char* field,
                                  std::span<const std::string_view> known);

// A member's name in a message: as it is when it is a plain word, else quoted and cut.
std::string MemberText(const std::string& member);

Json DimsToJson(DimsView dims);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_JSON_MEMBERS_H_
