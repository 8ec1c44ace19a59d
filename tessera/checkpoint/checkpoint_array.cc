#include "tessera/checkpoint/checkpoint_array.h"

#include <limits>
#include <string_view>

#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

// One name for each alternative.
struct CodecName {
  std::string_view operator()(const codec::ZstdSpec&) const { return "zstd"; }
  std::string_view operator()(const codec::DeflateSpec& spec) const {
    return spec.wrapping == codec::DeflateSpec::Wrapping::kGzip ? "gzip" : "zlib";
  }
  std::string_view operator()(const codec::Bz2Spec&) const { return "bz2"; }
  std::string_view operator()(const codec::BloscSpec&) const { return "blosc"; }
  std::string_view operator()(const codec::Crc32cSpec&) const { return "crc32c"; }
};

std::string TextOf(const zarr::ChunkCodecs& codecs) {
  std::string text;
  for (const codec::BytesSpec& spec : codecs.compression) {
    text += Concat(text.empty() ? "" : "+", std::visit(CodecName(), spec));
  }
  if (text.empty()) text = "none";
  return codecs.shard == nullptr ? text : Concat("shards of ", TextOf(codecs.shard->codecs));
}

}  // namespace

const zarr::Metadata* CheckpointArray::zarr() const {
  const auto* metadata = std::get_if<ZarrSource>(&source);
  return metadata == nullptr ? nullptr : metadata->get();
}

const Dims& CheckpointArray::shape() const {
  return tensor() != nullptr ? tensor()->tensor().shape : zarr()->shape;
}

DType CheckpointArray::dtype() const {
  return tensor() != nullptr ? tensor()->tensor().dtype : zarr()->dtype;
}

const Dims& CheckpointArray::chunk_shape() const {
  return tensor() != nullptr ? tensor()->block_shape : zarr()->chunk_shape;
}

std::string CheckpointArray::RuleName() const {
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) text += Concat(i == 0 ? "" : "/", key[i]);
  return text;
}

std::string CheckpointArray::CodecText() const {
  return tensor() != nullptr ? "none" : TextOf(zarr()->codecs);
}

std::optional<int64_t> CheckpointArray::stored_bytes() const {
  if (tensor() != nullptr) {
    return static_cast<int64_t>(tensor()->tensor().end - tensor()->tensor().begin);
  }
  if (manifest == nullptr) return std::nullopt;
  int64_t sum = 0;
  for (const ledger::StoredRecord& chunk : manifest->chunks) {
    // Sizes are anybody's: the largest number instead of an overflow.
    if (__builtin_add_overflow(sum, chunk.size, &sum)) return std::numeric_limits<int64_t>::max();
  }
  return sum;
}

ledger::ArrayRecord CheckpointArray::Record() const {
  return {path.empty() ? "." : path, shape(), std::string(DTypeName(dtype())), key};
}

}  // namespace tessera::checkpoint
