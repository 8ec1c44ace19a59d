#include "tessera/convert/plan_chunks.h"

#include <string>
#include <utility>

#include "tessera/checkpoint/stored_layout.h"
#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"

namespace tessera::convert {
namespace {

absl::StatusOr<ShardBasis> BasisOf(const ShardChunks& shards, DimsView shape,
                                   std::optional<size_t> rule) {
  ShardBasis basis{.shape = Dims(shape.begin(), shape.end()), .rule = rule};
  if (!rule.has_value()) return basis;
  const mesh::PartitionSpec& spec = shards.rules[*rule].spec;
  // An axis that the mesh lacks is a mistake, and no reason to correct.
  TESSERA_RETURN_IF_ERROR(mesh::NamedSharding::Make(shards.mesh, spec));
  mesh::CorrectedSpec corrected = mesh::CorrectSpec(shards.mesh, shape, spec);
  TESSERA_ASSIGN_OR_RETURN(const mesh::NamedSharding sharding,
                           mesh::NamedSharding::Make(shards.mesh, std::move(corrected.spec)));
  TESSERA_ASSIGN_OR_RETURN(basis.shape, mesh::ShardShape(sharding, shape));
  basis.corrections = std::move(corrected.corrections);
  return basis;
}

// Those of the source's chunks, or of the chunks inside of its shards.
const std::vector<codec::BytesSpec>& CompressionOf(const zarr::Metadata& metadata) {
  const zarr::ChunkCodecs* codecs = &metadata.codecs;
  while (codecs->shard != nullptr) codecs = &codecs->shard->codecs;
  return codecs->compression;
}

}  // namespace

absl::Status PlanShards(const ShardChunks& shards, std::vector<ConvertArray>& arrays) {
  if (shards.mesh.empty()) {
    return WithKind(FailedPrecondition("there are no shards on the empty mesh"),
                    ErrorKind::kNoMesh);
  }
  std::vector<mesh::NamedLeaf> leaves;
  for (const ConvertArray& array : arrays) leaves.push_back({array.rule_key, {}});
  TESSERA_ASSIGN_OR_RETURN(
      const mesh::RuleMatches matches,
      mesh::MatchLeaves(
          shards.rules, leaves,
          {.strict = false, .on_unmatched = mesh::MatchOptions::OnUnmatched::kReplicate}));
  std::string wrong;
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto basis = BasisOf(shards, arrays[i].target.shape, matches.leaves[i].rule);
    if (basis.ok()) {
      arrays[i].shard = *std::move(basis);
    } else {
      wrong += Concat(wrong.empty() ? "" : "; ", arrays[i].source_key, ": ",
                      std::string(basis.status().message()));
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return InvalidArgument("arrays that cannot be cut into shards: ", wrong);
}

checkpoint::CodecList CodecOf(const Target& target, const checkpoint::CheckpointArray& source,
                              const zarr::Metadata& metadata) {
  const DType dtype = metadata.dtype;
  if (target.keep_codec && source.zarr() != nullptr) {
    zarr::Metadata kept = metadata;
    kept.codecs.compression = checkpoint::CodecsFor(CompressionOf(*source.zarr()), dtype);
    if (zarr::Validate(kept).ok()) return kept.codecs.compression;
  }
  return checkpoint::CodecsFor(target.codec, dtype);
}

}  // namespace tessera::convert
