// JSON from outside: parsed within bounds, read field by field with errors that name the field.
#ifndef TESSERA_CORE_JSON_H_
#define TESSERA_CORE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

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
class ObjectReader {
 public:
  // InvalidArgument when `value` is no object.  `path` is empty for the document itself.
  static absl::StatusOr<ObjectReader> Make(const Json& value, std::string path = "");

  bool Has(const char* field) const { return object_->contains(field); }

  // Each: InvalidArgument when the field is missing or of another type.
  absl::StatusOr<const Json*> Any(const char* field) const;
  absl::StatusOr<std::string> String(const char* field) const;
  absl::StatusOr<int64_t> Integer(const char* field) const;
  absl::StatusOr<bool> Bool(const char* field) const;
  absl::StatusOr<const Json*> Array(const char* field) const;
  absl::StatusOr<ObjectReader> Object(const char* field) const;
  absl::StatusOr<Dims> Shape(const char* field) const;

  const Json& json() const { return *object_; }
  // Where `field` stands in the document.
  std::string PathOf(std::string_view field) const;

 private:
  ObjectReader(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

  const Json* object_;
  std::string path_;
};

// A list of sizes.  InvalidArgument starting with `path` unless all are integers from 0 up.
absl::StatusOr<Dims> ShapeFromJson(const Json& value, std::string_view path);

}  // namespace tessera

#endif  // TESSERA_CORE_JSON_H_
