// Tree definitions and plain values that JAX and Python pickled: testdata/treedefs/cases.json.
#ifndef TESSERA_LEDGER_TESTING_TREE_DEF_CASES_H_
#define TESSERA_LEDGER_TESTING_TREE_DEF_CASES_H_

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/tree/structure.h"

namespace tessera::ledger::testing {

struct TreeDefCase {
  std::vector<std::byte> pickle;
  tree::Structure expected;  // fields are called "0", "1", ...
};

// The whole file.
const nlohmann::json& RecordedCases();

// Its trees.
std::vector<TreeDefCase> RecordedTrees();

// REQUIRES: Base64.
std::vector<std::byte> FromBase64(const nlohmann::json& text);

}  // namespace tessera::ledger::testing

#endif  // TESSERA_LEDGER_TESTING_TREE_DEF_CASES_H_
