// Any bytes as eformer's index file: decoded or refused, and so is the tree of shardings made of
// it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/ledger/index_file.h"
#include "tessera/checkpoint/sharding_tree.h"
#include "tessera/core/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = tessera::ledger::DecodeIndexFile(text);
  if (!index.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(index.status()));
    return 0;
  }
  const auto mesh = tessera::mesh::ParseMesh("dp=2,tp=4");
  for (const char* prefix : {"", "model"}) {
    const auto tree = tessera::checkpoint::CreateShardingTreeFromIndex(
        *index,
        {.mesh = *mesh, .prefix = prefix, .default_sharding = tessera::mesh::PartitionSpec{"dp"}});
    TESSERA_CHECK(tree.ok() || absl::IsInvalidArgument(tree.status()));
  }
  return 0;
}
