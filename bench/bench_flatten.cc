// Flattening a tree of a million leaves: the peer of bench/flatten_jax.py, case by case.
//
// The tree is {"params": {"layers": {"layer_000": {"block_00": {"param_00": int, ...}}}}} with
// 1000 layers of 25 blocks of 40 parameters.  Cases:
//   flatten            leaves and structure
//   flatten_with_path  the same and a key path for each leaf
//   dotted_paths       a dotted name for each leaf
// One JSON line a case: the best and the median of the rounds, in seconds.  Dropping the results is
// not counted, as it is not in the Python peer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/core/status.h"
#include "tessera/tree/flatten.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace tessera::tree {
namespace {

using IntTree = Tree<int>;

constexpr int kLayers = 1000;
constexpr int kBlocks = 25;
constexpr int kParams = 40;
constexpr size_t kLeaves = size_t{kLayers} * kBlocks * kParams;

IntTree Block(int value) {
  IntTree::Items params;
  for (int k = 0; k < kParams; ++k) params.emplace_back(fmt::format("param_{:02}", k), value);
  return IntTree::MakeDict(std::move(params));
}

IntTree Layer(int value) {
  IntTree::Items blocks;
  for (int j = 0; j < kBlocks; ++j)
    blocks.emplace_back(fmt::format("block_{:02}", j), Block(value));
  return IntTree::MakeDict(std::move(blocks));
}

IntTree Model() {
  IntTree::Items layers;
  for (int i = 0; i < kLayers; ++i) layers.emplace_back(fmt::format("layer_{:03}", i), Layer(i));
  IntTree::Items params;
  params.emplace_back("layers", IntTree::MakeDict(std::move(layers)));
  IntTree::Items model;
  model.emplace_back("params", IntTree::MakeDict(std::move(params)));
  return IntTree::MakeDict(std::move(model));
}

// `run` returns what it made; the clock stops before that is dropped.
template <typename Run>
void Measure(const char* name, int rounds, const Run& run) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    TESSERA_CHECK(result.size() == kLeaves);
  }
  std::sort(seconds.begin(), seconds.end());
  fmt::print(
      "{{\"case\": \"{}\", \"side\": \"tessera\", \"leaves\": {}, \"rounds\": {}, "
      "\"best_s\": {:.4f}, \"median_s\": {:.4f}}}\n",
      name, kLeaves, rounds, seconds.front(), seconds[seconds.size() / 2]);
  std::fflush(stdout);
}

template <typename Flat>
struct Sized {
  Flat flat;
  size_t size() const { return flat.leaves.size(); }
};

int Main(int rounds) {
  const IntTree tree = Model();
  Measure("flatten", rounds, [&] { return Sized<Flattened<int>>{Flatten(tree).value()}; });
  Measure("flatten_with_path", rounds,
          [&] { return Sized<FlattenedWithPath<int>>{FlattenWithPath(tree).value()}; });
  Measure("dotted_paths", rounds, [&] {
    std::vector<std::string> names;
    const absl::Status status = ForEachLeaf(
        tree, [&](const KeyPathView& path, const int&) { names.push_back(path.Dotted()); });
    TESSERA_CHECK(status.ok());
    return names;
  });
  return 0;
}

}  // namespace
}  // namespace tessera::tree

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  return tessera::tree::Main(std::max(rounds, 1));
}
