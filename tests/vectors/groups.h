// One runner per group of recorded cases; vectors_test.cc calls them all.
#ifndef TESSERA_TESTS_VECTORS_GROUPS_H_
#define TESSERA_TESTS_VECTORS_GROUPS_H_

#include <string>

#include <nlohmann/json.hpp>

#include "tessera/core/json.h"
#include "tests/vectors/report.h"

namespace tessera::vectors {

// Runs one group of a whole document of groups.
using GroupRunner = Report (*)(const OrderedJson& document);

// mesh_groups.cc
Report RunNamedSharding(const OrderedJson& document);
Report RunCorrectedNamedSharding(const OrderedJson& document);
Report RunNamesFromPartitionSpec(const OrderedJson& document);
Report RunMeshQueries(const OrderedJson& document);
// rule_groups.cc
Report RunMatchPartitionRules(const OrderedJson& document);
Report RunPythonReSearch(const OrderedJson& document);
Report RunPatternSpec(const OrderedJson& document);
// tree_groups.cc
Report RunLeafKeyPaths(const OrderedJson& document);
Report RunValidateShardingTree(const OrderedJson& document);
Report RunShardingTreeFromIndex(const OrderedJson& document);
// layout_groups.cc
Report RunShardLayout(const OrderedJson& document);
Report RunChunkTensorByMemory(const OrderedJson& document);
Report RunPaths(const OrderedJson& document);
Report RunNbytes(const OrderedJson& document);

// The runner of a group; nullptr for a group that is unknown.
GroupRunner RunnerOf(const std::string& group);

}  // namespace tessera::vectors

#endif  // TESSERA_TESTS_VECTORS_GROUPS_H_
