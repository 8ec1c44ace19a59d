// What a zarr array's metadata says, as plain data for both versions of the format.
//
// FORMAT.md tells how each member is written.  Nothing here needs a codec or a store.
#ifndef TESSERA_ZARR_METADATA_H_
#define TESSERA_ZARR_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/codec/spec.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"

namespace tessera::zarr {

enum class Format { kV2, kV3 };

// ".zarray" or "zarr.json".
std::string_view MetadataName(Format format);

// How the key of a chunk is made of its place in the grid.
struct ChunkKeys {
  enum class Style {
    kBare,    // "0.1"; the only one of v2, "v2" in v3
    kPrefix,  // "c/0/1"; "default" in v3
  };
  Style style = Style::kBare;
  char separator = '.';  // or '/'
  friend bool operator==(const ChunkKeys&, const ChunkKeys&) = default;
};

struct ShardSpec;

// How a chunk becomes bytes.
struct ChunkCodecs {
  // In the order of encoding; dimension i after one is dimension order[i] before it.
  // Order "F" of v2 is one that reverses.
  std::vector<Dims> transposes = {};
  // Of the elements.  Means nothing when there is a shard, or an element is one byte.
  codec::Endian endian = codec::Endian::kLittle;
  // Set: the chunk is a shard of smaller chunks.
  std::shared_ptr<const ShardSpec> shard = nullptr;
  // Then these, in order of encoding; empty when there is a shard.
  std::vector<codec::BytesSpec> compression = {};
  friend bool operator==(const ChunkCodecs& a, const ChunkCodecs& b);
};

// sharding_indexed of v3.
struct ShardSpec {
  enum class IndexLocation { kStart, kEnd };
  Dims chunk_shape = {};  // of the inner chunks, in the dimensions after the transposes
  ChunkCodecs codecs = {};
  ChunkCodecs index_codecs = {};  // neither shard nor compressor: the index has a known size
  IndexLocation index_location = IndexLocation::kEnd;
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

struct Metadata {
  Format format = Format::kV2;
  Dims shape = {};
  DType dtype = DType::kFloat32;
  Dims chunk_shape = {};  // of the grid; each chunk is one stored value
  ChunkKeys chunk_keys = {};
  // The bytes of one element, little-endian.  nullopt: null, which v2 reads as zeros and v3 lacks.
  std::optional<std::vector<std::byte>> fill_value = {};
  ChunkCodecs codecs = {};
  // v3; one per dimension, or none at all.
  std::vector<std::optional<std::string>> dimension_names = {};
  // Members that change nothing here and are written back: name to compact JSON.
  std::map<std::string, std::string> other_members = {};
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// What JAX writes: v2, zstd level 1, separator '.', no fill value; chunks of `chunk_shape`, where
// a size of 0 becomes 1.
Metadata JaxMetadata(const ShapeDtype& array, DimsView chunk_shape);

// A document longer than this is not metadata.
inline constexpr int64_t kMaxMetadataBytes = int64_t{16} << 20;

// Reads a document and checks all of it.  InvalidArgument when it is malformed or contradicts
// itself, Unimplemented when it needs what is not supported; both name the member.
absl::StatusOr<Metadata> ParseMetadata(Format format, std::string_view text);

// The document, byte for byte as TensorStore writes it.  REQUIRES: Validate(metadata) is OK.
std::string MetadataText(const Metadata& metadata);

// What ParseMetadata checks, for metadata made by a program: ranks and sizes agree, products fit,
// the format has the dtype, codecs and chunk keys.
absl::Status Validate(const Metadata& metadata);

// What the two disagree in, as "chunks: [2,4] and [4,4]"; empty when both describe the same array
// stored in the same way.  Members that change nothing are not compared.  REQUIRES: both are valid.
std::string Difference(const Metadata& a, const Metadata& b);

}  // namespace tessera::zarr

#endif  // TESSERA_ZARR_METADATA_H_
