// YAML that people write by hand, read into JSON values within bounds.
//
// One document of lists, mappings and scalars.  Plain scalars are resolved by the core schema of
// YAML 1.2 (null, true and false, integers, floats, else text: `yes` and `on` are text); quoted and
// block ones are text.  Anchors, aliases and tags are refused: they can make much of little.
#ifndef TESSERA_CORE_YAML_H_
#define TESSERA_CORE_YAML_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/core/json.h"

namespace tessera {

inline constexpr size_t kMaxYamlBytes = size_t{4} << 20;
inline constexpr int kMaxYamlDepth = 64;

// A text without a document is null.  `item_lines`, where given, gets the line of each item of a
// document that is a list, counted from 1.
//
// InvalidArgument with line and column when `text` is not YAML or not of the kind above: it nests
// deeper than kMaxYamlDepth, repeats a key, has a key that is no scalar, a number that does not fit
// 64 bits, or a second document.  Also when it is longer than kMaxYamlBytes.
absl::StatusOr<Json> ParseYaml(std::string_view text, std::vector<int64_t>* item_lines = nullptr);

}  // namespace tessera

#endif  // TESSERA_CORE_YAML_H_
