#include "tessera/zarr/json_members.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::zarr {
namespace {

// Readers of an absent configuration look at this; it is never destroyed.
const Json& EmptyObject() {
  static const Json& empty = *new Json(Json::object());
  return empty;
}

std::string Listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace

absl::StatusOr<NamedJson> NamedFromJson(const Json& value, const std::string& path) {
  const std::string where = Concat(path, ".configuration");
  if (value.is_string()) {
    TESSERA_ASSIGN_OR_RETURN(ObjectReader empty, ObjectReader::Make(EmptyObject(), where));
    return NamedJson{value.get<std::string>(), std::move(empty)};
  }
  TESSERA_ASSIGN_OR_RETURN(const ObjectReader object, ObjectReader::Make(value, path));
  TESSERA_ASSIGN_OR_RETURN(std::string name, object.String("name"));
  TESSERA_RETURN_IF_ERROR(RefuseOthers(object, {"name", "configuration"}));
  const Json& found = object.Has("configuration") ? value["configuration"] : EmptyObject();
  TESSERA_ASSIGN_OR_RETURN(ObjectReader configuration, ObjectReader::Make(found, where));
  return NamedJson{std::move(name), std::move(configuration)};
}

Json NamedToJson(std::string_view name, const Json& configuration) {
  Json named = {{"name", name}};
  if (!configuration.empty()) named["configuration"] = configuration;
  return named;
}

absl::Status RefuseOthers(const ObjectReader& object,
                          std::initializer_list<std::string_view> known) {
  for (const auto& [member, value] : object.json().items()) {
    if (std::find(known.begin(), known.end(), member) == known.end()) {
      return Unimplemented(
          object.PathOf(MemberText(member)),
          ": the option is not supported; known: ", known.size() == 0 ? "none" : Listed(known));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> OneOf(const ObjectReader& object, const char* field,
                                  std::span<const std::string_view> known) {
  TESSERA_ASSIGN_OR_RETURN(std::string value, object.String(field));
  if (std::find(known.begin(), known.end(), value) != known.end()) return value;
  return Unimplemented(object.PathOf(field), ": ", Quoted(value),
                       " is not supported; known: ", Listed(known));
}

std::string MemberText(const std::string& member) {
  constexpr size_t kLongest = 64;
  const bool plain = !member.empty() && member.size() <= kLongest &&
                     std::all_of(member.begin(), member.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                     });
  return plain ? member : Quoted(member);
}

Json DimsToJson(DimsView dims) {
  Json list = Json::array();
  for (const int64_t size : dims) list.push_back(size);
  return list;
}

}  // namespace tessera::zarr
