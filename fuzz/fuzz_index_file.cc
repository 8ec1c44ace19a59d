// Any bytes as eformer's index file: decoded or refused, and so is the tree of shardings made of
// it; what is decoded takes a change, which is then there, once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/checkpoint/sharding_tree.h"
#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace {

using tessera::ledger::IndexChange;

void Apply(std::string_view text, const IndexChange& change) {
  const auto changed = tessera::ledger::ApplyIndexChange(text, change);
  if (!changed.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(changed.status()));
    return;
  }
  const auto index = tessera::ledger::DecodeIndexFile(*changed);
  TESSERA_CHECK(index.ok());
  const auto list = tessera::ledger::SelectArrays(*index, change.prefix);
  TESSERA_CHECK(list.ok() && std::ranges::equal(list->arrays, change.arrays));
  TESSERA_CHECK(tessera::ledger::IndexDigest(*index, change.prefix) != tessera::Hash128());
  const auto again = tessera::ledger::ApplyIndexChange(*changed, change);
  TESSERA_CHECK(again.ok() && *again == *changed);
}

void MakeTrees(const tessera::ledger::TensorstoreIndex& index) {
  const auto mesh = tessera::mesh::ParseMesh("dp=2,tp=4");
  for (const char* prefix : {"", "model"}) {
    const auto tree = tessera::checkpoint::CreateShardingTreeFromIndex(
        index,
        {.mesh = *mesh, .prefix = prefix, .default_sharding = tessera::mesh::PartitionSpec{"dp"}});
    TESSERA_CHECK(tree.ok() || absl::IsInvalidArgument(tree.status()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto change = tessera::ledger::DecodeIndexChange(text); change.ok()) {
    const auto again = tessera::ledger::DecodeIndexChange(*EncodeIndexChange(*change));
    TESSERA_CHECK(again.ok() && again->arrays.size() == change->arrays.size());
  }
  const auto index = tessera::ledger::DecodeIndexFile(text);
  if (!index.ok()) {
    TESSERA_CHECK(absl::IsInvalidArgument(index.status()));
    return 0;
  }
  if (index->arrays.has_value()) {
    const absl::Status status = tessera::ledger::CheckRecords(*index->arrays);
    TESSERA_CHECK(status.ok() || absl::IsInvalidArgument(status));
  }
  Apply(text, {"", {{"w", {2}, "int8"}}, {}, {}});
  Apply(text, {"model", {{"model/w", {2}, "int8"}}, {}, {{"f", 1, {}}}});
  MakeTrees(*index);
  return 0;
}
