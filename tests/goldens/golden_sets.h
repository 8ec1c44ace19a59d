// The golden sets: checkpoints that JAX, TensorStore and others wrote, with what is in them.
//
// A set is a folder with `ckpt/` and `expected.json`.  They lie below the folder that
// TESSERA_GOLDENS names, else below testdata's own, which the build unpacks.
#ifndef TESTS_GOLDENS_GOLDEN_SETS_H_
#define TESTS_GOLDENS_GOLDEN_SETS_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tessera/core/shape.h"

namespace tessera::goldens {

struct ExpectedArray {
  ShapeDtype array;
  std::string sha256;  // of the elements, little-endian in C order
};

struct GoldenSet {
  std::string name;
  std::filesystem::path checkpoint;
  std::map<std::string, ExpectedArray> arrays;
};

// Every set whose name begins with one of `prefixes`, by name.  Stops the program when a set cannot
// be read: a runner that finds nothing to do would pass for one that did its work.
std::vector<GoldenSet> FindSets(const std::vector<std::string>& prefixes);

}  // namespace tessera::goldens

#endif  // TESTS_GOLDENS_GOLDEN_SETS_H_
