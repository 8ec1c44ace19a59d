#include "tessera/zarr/array.h"

#include <utility>

#include "tessera/core/status.h"
#include "tessera/zarr/chunk_key.h"

namespace tessera::zarr {
namespace {

std::string PrefixOf(std::string_view path) {
  return path.empty() ? std::string() : Concat(path, "/");
}

std::string MetadataKey(std::string_view path, Format format) {
  return Concat(PrefixOf(path), MetadataName(format));
}

absl::StatusOr<Metadata> Parse(const store::KvStore& store, const std::string& key, Format format,
                               const Bytes& text) {
  absl::StatusOr<Metadata> metadata = ParseMetadata(format, text.text());
  if (!metadata.ok()) return Prefixed(metadata.status(), store.Describe(key));
  return metadata;
}

std::vector<Format> FormatsToTry(std::optional<Format> format) {
  if (format.has_value()) return {*format};
  return {Format::kV2, Format::kV3};
}

}  // namespace

Array::Array(store::KvStore& store, std::string_view path, Metadata metadata, ChunkCodec codec)
    : store_(&store),
      prefix_(PrefixOf(path)),
      metadata_(std::move(metadata)),
      codec_(std::move(codec)),
      fill_(metadata_.fill_value.value_or(std::vector<std::byte>(DTypeBytes(metadata_.dtype)))) {}

absl::StatusOr<Array> Array::Assume(store::KvStore& store, std::string_view path,
                                    const Metadata& metadata) {
  TESSERA_RETURN_IF_ERROR(Validate(metadata));
  TESSERA_ASSIGN_OR_RETURN(
      ChunkCodec codec, ChunkCodec::Make({metadata.chunk_shape, metadata.dtype}, metadata.codecs));
  return Array(store, path, metadata, std::move(codec));
}

absl::StatusOr<Array> Array::Open(store::KvStore& store, std::string_view path,
                                  std::optional<Format> format, std::stop_token stop) {
  std::vector<store::ReadRequest> requests;
  const std::vector<Format> formats = FormatsToTry(format);
  for (const Format each : formats) {
    requests.push_back({MetadataKey(path, each), store::ByteRange::AtMost(kMaxMetadataBytes)});
  }
  TESSERA_ASSIGN_OR_RETURN(const std::vector<store::ReadResult> found,
                           store.ReadMany(requests, std::move(stop)));
  std::optional<size_t> there;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].value.has_value()) continue;
    if (there.has_value()) {
      return InvalidArgument(store.Describe(path), ": holds both .zarray and zarr.json; say which");
    }
    there = i;
  }
  if (!there.has_value()) {
    const std::string_view other = formats.size() > 1 ? ", and no zarr.json beside it" : "";
    return NotFound(store.Describe(requests.front().key), ": array metadata not found", other);
  }
  TESSERA_ASSIGN_OR_RETURN(const Metadata metadata, Parse(store, requests[*there].key,
                                                          formats[*there], *found[*there].value));
  absl::StatusOr<Array> array = Assume(store, path, metadata);
  if (!array.ok()) return Prefixed(array.status(), store.Describe(requests[*there].key));
  return array;
}

absl::StatusOr<Array> Array::Create(store::KvStore& store, std::string_view path,
                                    const Metadata& metadata, IfThere if_there,
                                    std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(Array array, Assume(store, path, metadata));
  const std::string key = MetadataKey(path, metadata.format);
  const std::string text = MetadataText(metadata);
  const auto written =
      store.Write(key, std::as_bytes(std::span(text)), store::Generation::Missing(), stop);
  if (written.ok()) return array;
  if (!absl::IsAborted(written.status())) return written.status();
  if (if_there == IfThere::kFail) {
    return absl::AlreadyExistsError(Concat(store.Describe(key), ": the array is there already"));
  }
  TESSERA_ASSIGN_OR_RETURN(Array there, Open(store, path, metadata.format, stop));
  const std::string difference = Difference(there.metadata(), metadata);
  if (difference.empty()) return there;
  return FailedPrecondition(store.Describe(key), ": another array is there: ", difference);
}

std::string Array::KeyOf(DimsView cell) const {
  return Concat(prefix_, ChunkKey(metadata_.chunk_keys, cell));
}

}  // namespace tessera::zarr
