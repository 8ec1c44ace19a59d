// Random trees of every kind of node, for property tests.
#ifndef TESSERA_TREE_TESTING_RANDOM_TREE_H_
#define TESSERA_TREE_TESTING_RANDOM_TREE_H_

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tessera/tree/tree.h"

namespace tessera::tree::testing {

// A tree of exactly `nodes` nodes, at most `max_depth` containers inside one another.  Leaves count
// up from 0 in no particular order.
Tree<int> RandomTree(std::mt19937_64& random, size_t nodes, size_t max_depth);

// Text for keys: short, often hostile (empty, dots, slashes, "..", quotes, controls, non-ASCII),
// always UTF-8.
std::string RandomKeyText(std::mt19937_64& random);

}  // namespace tessera::tree::testing

#endif  // TESSERA_TREE_TESTING_RANDOM_TREE_H_
