// Folders of arrays to convert, and what is in them, for tests.
#ifndef TESSERA_CONVERT_TESTING_FOLDERS_H_
#define TESSERA_CONVERT_TESTING_FOLDERS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/checkpoint/content_hash.h"
#include "tessera/checkpoint/open.h"
#include "tessera/core/status.h"
#include "tessera/store/file_store.h"
#include "tessera/zarr/array.h"

namespace tessera::convert::testing {

// Bytes that differ from place to place, and are elements of every dtype: true or false for bool,
// small enough for elements under a byte.
inline std::vector<std::byte> SomeElements(const ShapeDtype& about, uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(*NumBytes(about.dtype, about.shape)));
  const int bits = about.dtype == DType::kBool ? 1 : InfoOf(about.dtype).bits;
  const int signed_limit = InfoOf(about.dtype).kind == DTypeKind::kSignedInt && bits < 8 ? 1 : 0;
  uint64_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto value = static_cast<unsigned>(state >> 56);
    byte = static_cast<std::byte>(bits < 8 ? value % (1u << (bits - signed_limit)) : value);
  }
  return bytes;
}

struct ArraySpec {
  std::string path;
  ShapeDtype about;
  Dims chunks;
};

// Writes zarr arrays into a folder, which is emptied first.
class ZarrFolder {
 public:
  explicit ZarrFolder(std::string path, zarr::Format format = zarr::Format::kV3)
      : path_(std::move(path)), format_(format) {
    std::filesystem::remove_all(path_);
    store_ = *store::OpenFileStore(path_, {.durability = store::Durability::kKernel});
  }

  const std::string& path() const { return path_; }
  store::KvStore& store() { return *store_; }

  ZarrFolder& Add(const ArraySpec& spec) {
    return AddBytes(spec, SomeElements(spec.about, ++seed_));
  }

  ZarrFolder& AddBytes(const ArraySpec& spec, const std::vector<std::byte>& bytes,
                       const checkpoint::CodecList& codecs = checkpoint::JaxCodec()) {
    zarr::Metadata metadata = zarr::JaxMetadata(spec.about, spec.chunks);
    metadata.codecs.compression = codecs;
    if (format_ == zarr::Format::kV3) {
      metadata.format = zarr::Format::kV3;
      metadata.chunk_keys = {zarr::ChunkKeys::Style::kPrefix, '/'};
      metadata.fill_value = std::vector<std::byte>(DTypeBytes(spec.about.dtype));
    }
    const auto array = zarr::Array::Create(*store_, spec.path, metadata);
    TESSERA_CHECK(array.ok());
    IoContext io({.in_flight = 2});
    const auto view = RowMajorView(bytes.data(), spec.about.shape, DTypeBytes(spec.about.dtype));
    TESSERA_CHECK(array->Write(Box::Whole(spec.about.shape), view, io).ok());
    return *this;
  }

 private:
  const std::string path_;
  const zarr::Format format_;
  std::unique_ptr<store::KvStore> store_;
  uint64_t seed_ = 0;
};

// Dtype, shape and content hash of every array, by key; keys begin with their prefix.
inline std::map<std::string, std::string> ContentOf(const std::string& location, IoContext& io) {
  std::map<std::string, std::string> content;
  const auto opened = checkpoint::Checkpoint::OpenAt(location, io, {.all_prefixes = true});
  if (!opened.ok()) return {{"error", opened.status().ToString()}};
  for (const checkpoint::CheckpointArray& array : opened->arrays()) {
    const auto hash = checkpoint::HashContent(*opened, array, io);
    content[array.name] =
        Concat(DTypeName(array.shape_dtype().dtype), ShapeText(array.shape_dtype().shape), " ",
               hash.ok() ? *hash : hash.status().ToString());
  }
  return content;
}

}  // namespace tessera::convert::testing

#endif  // TESSERA_CONVERT_TESTING_FOLDERS_H_
