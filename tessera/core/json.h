// JSON from outside: parsed within bounds, read field by field with errors that name the field.
//
// Only the library's forward declarations are included here, as its whole costs every user
// seconds; who looks into a value includes <nlohmann/json.hpp>.
#ifndef TESSERA_CORE_JSON_H_
#define TESSERA_CORE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "tessera/core/shape.h"

namespace tessera {

// Objects iterate by key in byte order.
using Json = nlohmann::json;
// Objects iterate as written; look-ups are linear, so for small documents only.
using OrderedJson = nlohmann::ordered_json;

inline constexpr int kMaxJsonDepth = 128;

// One JSON document.  InvalidArgument with the byte offset when `text` is not JSON, repeats a
// key within an object or nests deeper than kMaxJsonDepth.
absl::StatusOr<Json> ParseJson(std::string_view text);
absl::StatusOr<OrderedJson> ParseOrderedJson(std::string_view text);

// Reads the fields of one object.  Errors name the path of the field: `arrays[3].shape: ...`.
// The document must outlive the reader.
template <typename AnyJson>
class BasicObjectReader {
 public:
  // InvalidArgument when `value` is no object.  `path` is empty for the document itself.
  static absl::StatusOr<BasicObjectReader> Make(const AnyJson& value, std::string path = "");

  bool Has(const char* field) const;

  // Each: InvalidArgument when the field is missing or of another type.
  absl::StatusOr<const AnyJson*> Any(const char* field) const;
  absl::StatusOr<std::string> String(const char* field) const;
  absl::StatusOr<int64_t> Integer(const char* field) const;
  absl::StatusOr<bool> Bool(const char* field) const;
  absl::StatusOr<const AnyJson*> Array(const char* field) const;
  absl::StatusOr<BasicObjectReader> Object(const char* field) const;
  absl::StatusOr<Dims> Shape(const char* field) const;

  const AnyJson& json() const { return *object_; }
  // Where `field` stands in the document.
  std::string PathOf(std::string_view field) const;

 private:
  BasicObjectReader(const AnyJson& object, std::string path)
      : object_(&object), path_(std::move(path)) {}

  const AnyJson* object_;
  std::string path_;
};
using ObjectReader = BasicObjectReader<Json>;
using OrderedObjectReader = BasicObjectReader<OrderedJson>;

// A list of sizes.  InvalidArgument starting with `path` unless all are integers from 0 up.
template <typename AnyJson>
absl::StatusOr<Dims> ShapeFromJson(const AnyJson& value, std::string_view path);

}  // namespace tessera

#endif  // TESSERA_CORE_JSON_H_
