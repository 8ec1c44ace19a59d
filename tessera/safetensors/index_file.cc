#include "tessera/safetensors/index_file.h"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/safetensors/json_cursor.h"

namespace tessera::safetensors {
namespace {

constexpr std::string_view kMetadata = "metadata";
constexpr std::string_view kWeightMap = "weight_map";
constexpr const char* kTotalSize = "total_size";

absl::Status In(std::string_view member, const absl::Status& status) {
  return status.ok() ? status : Prefixed(status, member);
}

// A file of the index's own folder and no other.
absl::Status CheckFileName(std::string_view name) {
  const bool leaves = name.empty() || name == "." || name == ".." ||
                      name.find_first_of(std::string_view("/\\\0", 3)) != name.npos;
  if (!leaves) return absl::OkStatus();
  return InvalidArgument("the file ", Quoted(name), " is not the name of one beside the index");
}

// Takes total_size out of the metadata, unless it is something else than a number of bytes.
std::optional<int64_t> TakeTotalSize(Json& metadata) {
  const auto found = metadata.find(kTotalSize);
  if (found == metadata.end() || !found->is_number_integer()) return std::nullopt;
  constexpr auto kMost = uint64_t{std::numeric_limits<int64_t>::max()};
  if (found->is_number_unsigned() && found->get<uint64_t>() > kMost) return std::nullopt;
  const auto size = found->get<int64_t>();
  metadata.erase(found);
  return size;
}

class IndexParser {
 public:
  explicit IndexParser(std::string_view text) : cursor_(text) {}

  absl::StatusOr<IndexFile> Parse() && {
    TESSERA_RETURN_IF_ERROR(cursor_.Object([this](std::string_view key) {
      if (key == kMetadata) return In(kMetadata, ReadMetadata());
      if (key == kWeightMap) return In(kWeightMap, ReadWeightMap());
      return cursor_.Any().status();
    }));
    TESSERA_RETURN_IF_ERROR(cursor_.End());
    if (!has_weight_map_) return InvalidArgument("the member ", kWeightMap, " is missing");
    return std::move(index_);
  }

 private:
  absl::Status Once(bool& seen) {
    if (!std::exchange(seen, true)) return absl::OkStatus();
    return InvalidArgument("byte ", cursor_.NextByte(), ": the member stands there twice");
  }

  absl::Status ReadMetadata() {
    TESSERA_RETURN_IF_ERROR(Once(has_metadata_));
    const size_t begin = cursor_.NextByte();
    TESSERA_ASSIGN_OR_RETURN(const std::string_view text, cursor_.Any());
    if (text == "null") return absl::OkStatus();
    TESSERA_ASSIGN_OR_RETURN(Json metadata, ParseJson(text));
    if (!metadata.is_object()) {
      return InvalidArgument("byte ", begin, ": expected an object, found ", metadata.type_name());
    }
    index_.total_size = TakeTotalSize(metadata);
    index_.metadata = metadata.dump();
    return absl::OkStatus();
  }

  absl::Status ReadWeightMap() {
    TESSERA_RETURN_IF_ERROR(Once(has_weight_map_));
    return cursor_.Object([this](std::string_view key) {
      std::string tensor(key);
      absl::Status status = ReadFile(tensor);
      return status.ok() ? status : Prefixed(status, Concat("tensor ", Quoted(tensor)));
    });
  }

  absl::Status ReadFile(const std::string& tensor) {
    TESSERA_ASSIGN_OR_RETURN(const std::string_view file, cursor_.String());
    TESSERA_RETURN_IF_ERROR(CheckFileName(file));
    if (!names_.insert(tensor).second) return InvalidArgument("the name stands there twice");
    index_.weight_map.emplace_back(tensor, file);
    return absl::OkStatus();
  }

  JsonCursor cursor_;
  IndexFile index_;
  absl::flat_hash_set<std::string> names_;
  bool has_metadata_ = false;
  bool has_weight_map_ = false;
};

}  // namespace

absl::StatusOr<IndexFile> DecodeIndexFile(std::string_view text) {
  if (text.size() > kMaxIndexBytes) {
    return InvalidArgument("the index has ", text.size(), " bytes; at most ", kMaxIndexBytes,
                           " are allowed");
  }
  if (const auto bad = FirstInvalidUtf8(text); bad.has_value()) {
    return InvalidArgument("byte ", *bad, ": the index is not UTF-8");
  }
  return IndexParser(text).Parse();
}

absl::StatusOr<std::string> EncodeIndexFile(const IndexFile& index) {
  absl::StatusOr<Json> metadata = ParseJson(index.metadata);
  if (!metadata.ok()) return In(kMetadata, metadata.status());
  if (!metadata->is_object() || !IsValidUtf8(index.metadata)) {
    return InvalidArgument(kMetadata, ": expected the text of an object, found ",
                           Quoted(index.metadata));
  }
  if (index.total_size.has_value()) (*metadata)[kTotalSize] = *index.total_size;
  Json weight_map = Json::object();
  for (const auto& [tensor, file] : index.weight_map) {
    if (!IsValidUtf8(tensor) || !IsValidUtf8(file)) {
      return InvalidArgument(kWeightMap, ": tensor ", Quoted(tensor), " or its file ", Quoted(file),
                             " is not UTF-8");
    }
    if (!weight_map.emplace(tensor, file).second) {
      return InvalidArgument(kWeightMap, ": tensor ", Quoted(tensor),
                             ": the name stands there twice");
    }
  }
  const Json document = {{kMetadata, *std::move(metadata)}, {kWeightMap, std::move(weight_map)}};
  return document.dump(2, ' ', /*ensure_ascii=*/true) + "\n";
}

bool LooksLikeIndexFile(std::string_view text) {
  JsonCursor cursor(text);
  bool found = false;
  // Stops at the member: what comes after it is DecodeIndexFile's to judge.
  const absl::Status status = cursor.Object([&](std::string_view key) -> absl::Status {
    found = key == kWeightMap;
    return found ? absl::CancelledError() : cursor.Any().status();
  });
  return found && absl::IsCancelled(status);
}

}  // namespace tessera::safetensors
