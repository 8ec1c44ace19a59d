// Trees written as JSON, for test vectors.
//
// null is None; {"dict": {...}}, {"list": [...]}, {"tuple": [...]} and {"namedtuple": {...}} are
// containers, whose objects list keys in the order given; any other scalar is a leaf.
#ifndef TESSERA_TREE_TESTING_TREE_JSON_H_
#define TESSERA_TREE_TESTING_TREE_JSON_H_

#include <string>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "tessera/tree/tree.h"

namespace tessera::tree::testing {

// A text leaf holds its text, every other leaf its JSON.  InvalidArgument for any other form and
// for nesting deeper than kMaxParseDepth.
absl::StatusOr<Tree<std::string>> ParseTree(const nlohmann::ordered_json& json);

inline constexpr int kMaxParseDepth = 1000;

// The tree in JSON text.  For literals: stops the program where ParseTree would fail.
Tree<std::string> MakeTree(const std::string& json_text);

}  // namespace tessera::tree::testing

#endif  // TESSERA_TREE_TESTING_TREE_JSON_H_
