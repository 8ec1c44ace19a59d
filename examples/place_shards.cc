// Which box of an array lies on which device: the program of the README.
#include <cstdio>
#include <vector>

#include "tessera/mesh/match_partition_rules.h"
#include "tessera/mesh/sharding.h"

int main() {
  using tessera::ShapeDtype;
  const auto mesh = tessera::mesh::ParseMesh("fsdp=4,tp=2").value();
  const auto state = tessera::tree::Tree<ShapeDtype>::MakeDict(
      {{"kernel", ShapeDtype{{512, 2048}}}, {"bias", ShapeDtype{{2048}}}});
  const std::vector<tessera::mesh::PartitionRule> rules = {{"kernel$", {"fsdp", "tp"}}, {".*", {}}};
  const auto plan = tessera::mesh::MatchPartitionRules(rules, state, {.mesh = mesh}).value();
  const auto sharding =
      tessera::mesh::NamedSharding::Make(mesh, plan.specs.Find("kernel")->leaf()).value();
  const auto shards = tessera::mesh::PlaceShards(sharding, tessera::Dims{512, 2048}).value();
  for (const auto& shard : shards) {
    std::printf("device %d holds %s\n", static_cast<int>(shard.device.id),
                shard.box.Text().c_str());
  }
  return 0;
}
