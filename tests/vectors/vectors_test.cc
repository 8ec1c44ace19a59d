// Runs every recorded case of the original against ours.
//
// The file is testdata/vectors.json.gz, or the one that TESSERA_VECTORS names (plain or gzip).
// Where we decided to differ, docs/differences.md has the reason under the name that the summary
// shows, and the runner checks that our result is the one decided on.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/core/json.h"
#include "tessera/core/testing/status_matchers.h"
#include "tests/vectors/groups.h"

namespace tessera::vectors {

GroupRunner RunnerOf(const std::string& group) {
  static constexpr std::pair<const char*, GroupRunner> kRunners[] = {
      {"named_sharding", RunNamedSharding},
      {"corrected_named_sharding", RunCorrectedNamedSharding},
      {"match_partition_rules", RunMatchPartitionRules},
      {"python_re_search", RunPythonReSearch},
      {"leaf_key_paths", RunLeafKeyPaths},
      {"validate_sharding_tree", RunValidateShardingTree},
      {"shard_layout", RunShardLayout},
      {"chunk_tensor_by_memory", RunChunkTensorByMemory},
      {"paths", RunPaths},
      {"nbytes", RunNbytes},
      {"names_from_partition_spec", RunNamesFromPartitionSpec},
      {"mesh_queries", RunMeshQueries},
      {"pattern_spec", RunPatternSpec},
      {"sharding_tree_from_index", RunShardingTreeFromIndex},
  };
  for (const auto& [name, runner] : kRunners) {
    if (group == name) return runner;
  }
  return nullptr;
}

namespace {

std::string VectorsPath() {
  const char* path = std::getenv("TESSERA_VECTORS");
  return path != nullptr ? path : TESSERA_TESTDATA "/vectors.json.gz";
}

// zlib reads a file that is not compressed as it is.
std::string ReadMaybeGzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  int count = 0;
  while ((count = gzread(file, buffer, sizeof(buffer))) > 0) text.append(buffer, count);
  gzclose(file);
  return text;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(VectorsTest, EveryGroupAgreesWithTheOriginalOrWithOurDecision) {
  const std::string path = VectorsPath();
  const std::string text = ReadMaybeGzip(path);
  ASSERT_FALSE(text.empty()) << "cannot read " << path;
  TESSERA_ASSERT_OK_AND_ASSIGN(const OrderedJson document, ParseOrderedJson(text));
  const std::string differences = ReadFile(TESSERA_SOURCE_DIR "/docs/differences.md");
  std::printf("cases of %s\n", path.c_str());
  for (const auto& [group, cases] : document.items()) {
    if (group == "python_re_subjects") continue;  // the subjects of python_re_search
    const GroupRunner runner = RunnerOf(group);
    ASSERT_NE(runner, nullptr) << "no runner for the group " << group;
    const Report report = runner(document);
    std::printf("  %s\n", report.Summary().c_str());
    for (const std::string& failure : report.failures()) ADD_FAILURE() << group << ": " << failure;
    EXPECT_EQ(report.failed(), 0) << group;
    for (const auto& [id, count] : report.differences()) {
      EXPECT_NE(differences.find("`" + id + "`"), std::string::npos)
          << "docs/differences.md does not list " << id;
    }
  }
}

}  // namespace
}  // namespace tessera::vectors
