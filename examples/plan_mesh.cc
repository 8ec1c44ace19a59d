// Plans where the state of a small transformer would lie: meshes, rules and their analysis.
//
// Usage: example_plan_mesh [MESH]       for example: example_plan_mesh fsdp=4,tp=2
#include <cstdio>
#include <string>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/mesh/analyze_sharding_strategy.h"
#include "tessera/mesh/match_partition_rules.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/sharding.h"
#include "tessera/tree/walk.h"

namespace {

using tessera::DType;
using tessera::ShapeDtype;
using tessera::mesh::Mesh;
using tessera::mesh::PartitionRule;
using tessera::mesh::PartitionSpec;
using ArrayTree = tessera::tree::Tree<ShapeDtype>;

ShapeDtype Weights(tessera::Dims shape) { return {std::move(shape), DType::kBfloat16}; }

ArrayTree Layer() {
  const auto kernel = [](int64_t rows, int64_t columns) {
    return ArrayTree::MakeDict({{"kernel", Weights({rows, columns})}});
  };
  return ArrayTree::MakeDict({{"self_attn", ArrayTree::MakeDict({{"q_proj", kernel(512, 512)},
                                                                 {"k_proj", kernel(512, 128)},
                                                                 {"v_proj", kernel(512, 128)},
                                                                 {"o_proj", kernel(512, 512)}})},
                              {"mlp", ArrayTree::MakeDict({{"up_proj", kernel(512, 2048)},
                                                           {"down_proj", kernel(2048, 512)}})},
                              {"norm", ArrayTree::MakeDict({{"scale", Weights({512})}})}});
}

ArrayTree SmallTransformer() {
  return ArrayTree::MakeDict(
      {{"embed_tokens", ArrayTree::MakeDict({{"embedding", Weights({32000, 512})}})},
       {"layers", ArrayTree::List({Layer(), Layer()})},
       {"lm_head", ArrayTree::MakeDict({{"kernel", Weights({512, 32000})}})},
       {"step", ShapeDtype{{}, DType::kInt32}}});
}

std::vector<PartitionRule> Rules() {
  return {{"embed_tokens/embedding", {"tp", "fsdp"}},
          {"self_attn/(q_proj|k_proj|v_proj)/kernel", {"fsdp", "tp"}},
          {"self_attn/o_proj/kernel", {"tp", "fsdp"}},
          {"mlp/up_proj/kernel", {"fsdp", "tp"}},
          {"mlp/down_proj/kernel", {"tp", "fsdp"}},
          {"lm_head/kernel", {"fsdp", "tp"}},
          {".*", {nullptr}}};
}

absl::Status PrintPlan(const Mesh& mesh) {
  const ArrayTree state = SmallTransformer();
  const std::vector<PartitionRule> rules = Rules();
  // With the mesh at hand, a spec that does not fit is an error here and not at load time.
  TESSERA_ASSIGN_OR_RETURN(const auto matched,
                           tessera::mesh::MatchPartitionRules(rules, state, {.mesh = mesh}));
  std::printf("%s\n\n%-36s %-14s %-18s %-14s %s\n", mesh.Text().c_str(), "array", "shape", "spec",
              "shard", "rule");
  for (size_t i = 0; i < matched.leaves.size(); ++i) {
    const auto& leaf = matched.leaves[i];
    const auto& match = matched.matches.leaves[i];
    TESSERA_ASSIGN_OR_RETURN(const auto sharding,
                             tessera::mesh::NamedSharding::Make(mesh, match.spec));
    TESSERA_ASSIGN_OR_RETURN(const auto shard, tessera::mesh::ShardShape(sharding, *leaf.shape));
    std::printf("%-36s %-14s %-18s %-14s %s\n", leaf.name.c_str(),
                tessera::ShapeText(*leaf.shape).c_str(), match.spec.Text().c_str(),
                tessera::ShapeText(shard).c_str(),
                match.rule.has_value() ? rules[*match.rule].pattern.c_str() : "-");
  }
  TESSERA_ASSIGN_OR_RETURN(const auto analysis,
                           tessera::mesh::AnalyzeShardingStrategy(state, matched.specs, mesh));
  std::printf(
      "\n%lld parameters, %lld of them sharded; %lld bytes on each of %lld devices; "
      "balance %.2f, efficiency %.2f\n\n",
      static_cast<long long>(analysis.total_parameters),
      static_cast<long long>(analysis.sharded_parameters),
      static_cast<long long>(analysis.memory_per_device.front().bytes),
      static_cast<long long>(mesh.size()), analysis.balance_score, analysis.efficiency);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& meshes) {
  for (const std::string& text : meshes) {
    TESSERA_ASSIGN_OR_RETURN(const Mesh mesh, tessera::mesh::ParseMesh(text));
    TESSERA_RETURN_IF_ERROR(PrintPlan(mesh));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> meshes(argv + 1, argv + argc);
  if (meshes.empty()) meshes = {"fsdp=1,tp=1", "fsdp=4,tp=2", "fsdp=2,tp=4"};
  const absl::Status status = Run(meshes);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 2;
}
