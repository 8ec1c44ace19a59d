// Facts that reading and writing a pickled tree definition share.
#ifndef TESSERA_LEDGER_PICKLE_TREE_NODES_H_
#define TESSERA_LEDGER_PICKLE_TREE_NODES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "tessera/ledger/pickle.h"

namespace tessera::ledger {

// The kind of a node, as JAX numbers it.
enum class JaxNode : int64_t {
  kLeaf = 0,
  kNone = 1,
  kTuple = 2,
  kNamedTuple = 3,
  kList = 4,
  kDict = 5,
  kCustom = 6,
  kDataclass = 7,
};

inline constexpr PickleGlobal kOrderedDictType{"collections", "OrderedDict"};
inline constexpr PickleGlobal kDefaultDictType{"collections", "defaultdict"};

// What a default dict may make of nothing: builtin types, which do no harm when they are called.
inline constexpr std::string_view kFactoryModule = "builtins";
inline bool IsKnownFactory(std::string_view name) {
  constexpr std::array<std::string_view, 11> kNames = {"bool",  "bytes",     "complex", "dict",
                                                       "float", "frozenset", "int",     "list",
                                                       "set",   "str",       "tuple"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_TREE_NODES_H_
