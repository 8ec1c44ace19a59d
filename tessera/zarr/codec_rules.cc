#include "tessera/zarr/codec_rules.h"

#include <string>
#include <variant>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/zarr/compression_json.h"

namespace tessera::zarr {
namespace {

bool IsPermutation(DimsView order, size_t rank) {
  if (order.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (const int64_t dim : order) {
    if (dim < 0 || static_cast<size_t>(dim) >= rank || seen[static_cast<size_t>(dim)]) return false;
    seen[static_cast<size_t>(dim)] = true;
  }
  return true;
}

bool Reverses(DimsView order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(order.size() - 1 - i)) return false;
  }
  return true;
}

Dims Transposed(DimsView shape, DimsView order) {
  Dims transposed;
  for (const int64_t dim : order) transposed.push_back(shape[static_cast<size_t>(dim)]);
  return transposed;
}

std::string At(const std::string& path, size_t i) { return Concat(path, "[", i, "]"); }

// How many inner chunks a shard has in each dimension.
absl::StatusOr<Dims> ShardGrid(DimsView outer, DimsView inner, const std::string& path) {
  const auto bad = [&](const auto&... why) {
    return InvalidArgument(path, ": ", ShapeText(inner), " of a shard of ", ShapeText(outer), ": ",
                           why...);
  };
  if (inner.size() != outer.size()) return bad("the ranks differ");
  Dims grid;
  int64_t count = 1;
  for (size_t i = 0; i < outer.size(); ++i) {
    if (inner[i] < 1) return bad("sizes must be at least 1");
    if (outer[i] % inner[i] != 0) return bad("it does not divide the shard");
    grid.push_back(outer[i] / inner[i]);
    if (grid.back() > kMaxShardChunks / count) {
      return bad("more than ", kMaxShardChunks, " inner chunks");
    }
    count *= grid.back();
  }
  return grid;
}

absl::Status CheckShard(const ShardSpec& shard, DimsView outer, const std::string& path, int depth);

// Of v3: of a chunk of `shape`, in the list at `path`.
absl::Status CheckChain(const ChunkCodecs& codecs, DimsView shape, const std::string& path,
                        int depth) {
  const size_t before = codecs.transposes.size();
  const size_t count = before + 1 + codecs.compression.size();
  if (count > kMaxCodecs) {
    return Unimplemented(path, ": ", count, " codecs; at most ", kMaxCodecs, " are supported");
  }
  Dims encoded(shape.begin(), shape.end());
  for (size_t i = 0; i < before; ++i) {
    const Dims& order = codecs.transposes[i];
    if (!IsPermutation(order, shape.size())) {
      return InvalidArgument(At(path, i), ".configuration.order: bad permutation ",
                             ShapeText(order), " of ", shape.size(), " dimensions");
    }
    encoded = Transposed(encoded, order);
  }
  if (codecs.shard != nullptr) {
    if (!codecs.compression.empty()) {
      return InvalidArgument(At(path, before + 1),
                             ": codec chain invalid: nothing may follow sharding_indexed");
    }
    return CheckShard(*codecs.shard, encoded, At(path, before) + ".configuration", depth + 1);
  }
  for (size_t i = 0; i < codecs.compression.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(CheckCompression(Format::kV3, codecs.compression[i],
                                             At(path, before + 1 + i) + ".configuration"));
  }
  return absl::OkStatus();
}

// A reader finds the index by its size alone, so nothing in it may change with the contents.
absl::Status CheckIndexCodecs(const ChunkCodecs& codecs, Dims grid, const std::string& path) {
  bool fixed = codecs.shard == nullptr;
  for (const codec::BytesSpec& spec : codecs.compression) {
    fixed = fixed && std::holds_alternative<codec::Crc32cSpec>(spec);
  }
  if (!fixed) {
    return InvalidArgument(path, ": only transpose, bytes and crc32c keep the index's size fixed");
  }
  grid.push_back(2);
  return CheckChain(codecs, grid, path, 0);
}

absl::Status CheckShard(const ShardSpec& shard, DimsView outer, const std::string& path,
                        int depth) {
  if (depth > kMaxShardDepth) {
    return Unimplemented(path, ": shards nest deeper than ", kMaxShardDepth);
  }
  if (outer.size() >= kMaxRank) {
    return InvalidArgument(path, ": a shard has at most ", kMaxRank - 1, " dimensions, found ",
                           outer.size());
  }
  TESSERA_ASSIGN_OR_RETURN(Dims grid, ShardGrid(outer, shard.chunk_shape, path + ".chunk_shape"));
  TESSERA_RETURN_IF_ERROR(
      CheckIndexCodecs(shard.index_codecs, std::move(grid), path + ".index_codecs"));
  return CheckChain(shard.codecs, shard.chunk_shape, path + ".codecs", depth);
}

absl::Status CheckCompressor(const Metadata& metadata) {
  const std::vector<codec::BytesSpec>& compression = metadata.codecs.compression;
  if (compression.empty()) return absl::OkStatus();
  if (compression.size() > 1) {
    return Unimplemented("compressor: zarr v2 has one, found ", compression.size());
  }
  TESSERA_RETURN_IF_ERROR(CheckCompression(Format::kV2, compression.front(), "compressor"));
  const auto* blosc = std::get_if<codec::BloscSpec>(&compression.front());
  if (blosc != nullptr && blosc->element_bytes != DTypeBytes(metadata.dtype)) {
    return Unimplemented("compressor: in zarr v2 blosc shuffles whole elements, here of ",
                         DTypeBytes(metadata.dtype), " bytes, not of ", blosc->element_bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckV2(const Metadata& metadata) {
  const ChunkCodecs& codecs = metadata.codecs;
  if (codecs.shard != nullptr) return Unimplemented("codecs: zarr v2 lacks shards");
  const bool reverses = codecs.transposes.size() == 1 &&
                        codecs.transposes[0].size() == metadata.chunk_shape.size() &&
                        Reverses(codecs.transposes[0]);
  if (!codecs.transposes.empty() && !reverses) {
    return Unimplemented("order: zarr v2 has C and F, and no other transposition");
  }
  // Names without a prefix stand for little-endian elements.
  if (codecs.endian == codec::Endian::kBig && DTypeBytes(metadata.dtype) > 1 &&
      !InfoOf(metadata.dtype).zarr2.starts_with('<')) {
    return Unimplemented("dtype: zarr v2 has ", DTypeName(metadata.dtype), " little-endian only");
  }
  return CheckCompressor(metadata);
}

}  // namespace

absl::Status CheckCodecs(const Metadata& metadata) {
  if (metadata.format == Format::kV2) return CheckV2(metadata);
  return CheckChain(metadata.codecs, metadata.chunk_shape, "codecs", 0);
}

}  // namespace tessera::zarr
