// Builds a train state as a tree, names its leaves, and finds where another state differs.
#include <cstdio>
#include <string>

#include "tessera/core/status.h"
#include "tessera/tree/leaf_key_paths.h"
#include "tessera/tree/map.h"
#include "tessera/tree/structure.h"
#include "tessera/tree/tree.h"
#include "tessera/tree/walk.h"

namespace {

using tessera::tree::Tree;
using Numbers = Tree<double>;

Numbers Params() {
  const auto layer = [](double value) {
    return Numbers::MakeDict({{"kernel", value}, {"bias", 0.0}});
  };
  return Numbers::MakeDict({{"layers", Numbers::List({layer(1.0), layer(2.0)})}});
}

absl::Status Run() {
  const Numbers params = Params();
  // The optimizer's moments have the same structure as the parameters.
  TESSERA_ASSIGN_OR_RETURN(const Numbers zeros,
                           tessera::tree::Map(params, [](double) { return 0.0; }));
  const Numbers state =
      Numbers::MakeDict({{"params", params},
                         {"opt", Numbers::MakeNamedTuple("Adam", {{"mu", zeros}, {"nu", zeros}})}});

  TESSERA_ASSIGN_OR_RETURN(const Tree<std::string> names, tessera::tree::LeafKeyPaths(state));
  TESSERA_RETURN_IF_ERROR(tessera::tree::ForEachLeaf(
      names, [](const tessera::tree::KeyPathView&, const std::string& name) {
        std::printf("%s\n", name.c_str());
      }));

  const absl::Status same =
      tessera::tree::CheckSameStructure(params, Numbers::MakeDict({{"layers", 3.0}}));
  std::printf("another state: %s\n", std::string(same.message()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}
