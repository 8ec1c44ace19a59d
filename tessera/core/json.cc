#include "tessera/core/json.h"

#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/core/status.h"

namespace tessera {
namespace {

// Watches the parser's events for what the library accepts and we do not.
class Guard {
 public:
  template <typename AnyJson>
  bool operator()(int /*depth*/, typename AnyJson::parse_event_t event, AnyJson& parsed) {
    using Event = typename AnyJson::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        open_.emplace_back();
        break;
      case Event::object_end:
      case Event::array_end:
        open_.pop_back();
        break;
      case Event::key:
        NoteKey(parsed.template get_ref<const std::string&>());
        break;
      case Event::value:
        break;
    }
    if (open_.size() > kMaxJsonDepth) Fail(Concat("it nests deeper than ", kMaxJsonDepth));
    return true;
  }

  const std::string& problem() const { return problem_; }

 private:
  void NoteKey(const std::string& key) {
    if (!open_.back().insert(key).second)
      Fail(Concat("the key '", key, "' stands twice in one object"));
  }
  void Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::vector<std::set<std::string>> open_;
  std::string problem_;
};

template <typename AnyJson>
absl::StatusOr<AnyJson> Parse(std::string_view text) {
  // The library takes a NUL for the end of the text, and would not see what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return InvalidArgument("bad JSON at byte ", nul + 1);
  }
  Guard guard;
  // The library reports syntax errors by exception; this is the one place that sees them.
  try {
    AnyJson value =
        AnyJson::parse(text, [&guard](int depth, typename AnyJson::parse_event_t event,
                                      AnyJson& parsed) { return guard(depth, event, parsed); });
    if (!guard.problem().empty()) return InvalidArgument("bad JSON: ", guard.problem());
    return value;
  } catch (const nlohmann::json::parse_error& error) {
    return InvalidArgument("bad JSON at byte ", error.byte);
  } catch (const nlohmann::json::exception&) {
    return InvalidArgument("bad JSON: a number does not fit");
  }
}

template <typename AnyJson>
absl::Status WrongType(const std::string& path, std::string_view expected, const AnyJson& found) {
  // Of a number the type alone would not tell what is wrong with it.
  const std::string what = found.is_number() ? found.dump() : found.type_name();
  return InvalidArgument(path, ": expected ", expected, ", found ", what);
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text) { return Parse<Json>(text); }

absl::StatusOr<OrderedJson> ParseOrderedJson(std::string_view text) {
  return Parse<OrderedJson>(text);
}

template <typename AnyJson>
absl::StatusOr<BasicObjectReader<AnyJson>> BasicObjectReader<AnyJson>::Make(const AnyJson& value,
                                                                            std::string path) {
  if (!value.is_object()) return WrongType(path.empty() ? "document" : path, "an object", value);
  return BasicObjectReader(value, std::move(path));
}

template <typename AnyJson>
bool BasicObjectReader<AnyJson>::Has(const char* field) const {
  return object_->contains(field);
}

template <typename AnyJson>
std::string BasicObjectReader<AnyJson>::PathOf(std::string_view field) const {
  return path_.empty() ? std::string(field) : Concat(path_, ".", field);
}

template <typename AnyJson>
absl::StatusOr<const AnyJson*> BasicObjectReader<AnyJson>::Any(const char* field) const {
  const auto found = object_->find(field);
  if (found == object_->end()) return InvalidArgument(PathOf(field), ": the field is missing");
  return &*found;
}

template <typename AnyJson>
absl::StatusOr<std::string> BasicObjectReader<AnyJson>::String(const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  if (!value->is_string()) return WrongType(PathOf(field), "a string", *value);
  return value->template get<std::string>();
}

template <typename AnyJson>
absl::StatusOr<int64_t> BasicObjectReader<AnyJson>::Integer(const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  if (!value->is_number_integer()) return WrongType(PathOf(field), "an integer", *value);
  if (value->is_number_unsigned() &&
      value->template get<uint64_t>() >
          static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return InvalidArgument(PathOf(field), ": ", value->template get<uint64_t>(),
                           " does not fit 63 bits");
  }
  return value->template get<int64_t>();
}

template <typename AnyJson>
absl::StatusOr<bool> BasicObjectReader<AnyJson>::Bool(const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  if (!value->is_boolean()) return WrongType(PathOf(field), "true or false", *value);
  return value->template get<bool>();
}

template <typename AnyJson>
absl::StatusOr<const AnyJson*> BasicObjectReader<AnyJson>::Array(const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  if (!value->is_array()) return WrongType(PathOf(field), "a list", *value);
  return value;
}

template <typename AnyJson>
absl::StatusOr<BasicObjectReader<AnyJson>> BasicObjectReader<AnyJson>::Object(
    const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  return Make(*value, PathOf(field));
}

template <typename AnyJson>
absl::StatusOr<Dims> BasicObjectReader<AnyJson>::Shape(const char* field) const {
  TESSERA_ASSIGN_OR_RETURN(const AnyJson* value, Any(field));
  return ShapeFromJson(*value, PathOf(field));
}

template <typename AnyJson>
absl::StatusOr<Dims> ShapeFromJson(const AnyJson& value, std::string_view path) {
  if (!value.is_array()) return WrongType(std::string(path), "a list of sizes", value);
  if (value.size() > kMaxRank) {
    return InvalidArgument(path, ": ", value.size(), " dimensions; at most ", kMaxRank,
                           " are supported");
  }
  Dims shape;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string where = Concat(path, "[", i, "]");
    if (!value[i].is_number_unsigned()) return WrongType(where, "a size from 0 up", value[i]);
    const auto size = value[i].template get<uint64_t>();
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return InvalidArgument(where, ": ", size, " does not fit 63 bits");
    }
    shape.push_back(static_cast<int64_t>(size));
  }
  return shape;
}

template class BasicObjectReader<Json>;
template class BasicObjectReader<OrderedJson>;
template absl::StatusOr<Dims> ShapeFromJson(const Json& value, std::string_view path);
template absl::StatusOr<Dims> ShapeFromJson(const OrderedJson& value, std::string_view path);

}  // namespace tessera
