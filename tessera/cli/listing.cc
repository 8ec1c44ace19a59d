#include "tessera/cli/listing.h"

#include <limits>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "tessera/checkpoint/detect_format.h"
#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/read_index.h"
#include "tessera/checkpoint/stored_sizes.h"
#include "tessera/cli/find.h"
#include "tessera/core/status.h"

namespace tessera::cli {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

void Totals::Add(const ListedArray& array) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  ++arrays;
  if (__builtin_add_overflow(nbytes, array.nbytes, &nbytes)) nbytes = kMost;
  if (__builtin_add_overflow(stored_bytes, array.stored_bytes, &stored_bytes)) stored_bytes = kMost;
}

Totals TotalsOf(const Listing& listing) {
  Totals totals;
  for (const ListedArray& array : listing.arrays) totals.Add(array);
  return totals;
}

absl::StatusOr<Listing> ListingOf(const std::string& location, const Checkpoint& checkpoint,
                                  const std::optional<std::string>& match, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(auto selected, SelectArrays(checkpoint, match));
  SortByName(selected);
  TESSERA_ASSIGN_OR_RETURN(const std::vector<int64_t> stored,
                           checkpoint::StoredSizes(checkpoint, context.stop()));
  Listing listing{
      std::string(FormatName(checkpoint.format())), location, checkpoint.prefixes(), {}};
  listing.arrays.reserve(selected.size());
  for (const CheckpointArray* array : selected) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t nbytes, NumBytes(array->dtype(), array->shape()));
    listing.arrays.push_back({array->name, array->dtype(), array->shape(), nbytes,
                              array->chunk_shape(), array->CodecText(),
                              stored[static_cast<size_t>(array - checkpoint.arrays().data())]});
  }
  return listing;
}

namespace {

constexpr size_t kMany = 10'000;

// Of very many arrays, what the index says of them; nullopt: they are not that many.
absl::StatusOr<std::optional<Listing>> ListManyByIndex(const std::string& location,
                                                       const Arguments& arguments,
                                                       Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::Location place, checkpoint::OpenLocation(location));
  if (!place.file.empty()) return std::nullopt;
  const std::optional<std::string> prefix = arguments.Text("--prefix");
  TESSERA_ASSIGN_OR_RETURN(auto index, checkpoint::ReadIndex(*place.store, prefix.value_or(""),
                                                             !prefix.has_value(), context.stop()));
  if (!index.has_value() || index->arrays.size() <= kMany) return std::nullopt;
  TESSERA_ASSIGN_OR_RETURN(const KeyFilter filter, KeyFilter::Make(arguments.Text("--match")));
  std::vector<checkpoint::ListedByIndex*> wanted;
  for (checkpoint::ListedByIndex& entry : index->arrays) {
    TESSERA_ASSIGN_OR_RETURN(const bool takes, filter.Takes(entry.name));
    if (takes) wanted.push_back(&entry);
  }
  TESSERA_RETURN_IF_ERROR(filter.CheckFound(wanted.size(), index->arrays.size()));
  SortByName(wanted);
  Listing listing{"tensorstore", location, std::move(index->prefixes), {}, false};
  listing.arrays.reserve(wanted.size());
  for (checkpoint::ListedByIndex* entry : wanted) {
    auto& [shape, dtype] = entry->array;
    TESSERA_ASSIGN_OR_RETURN(const int64_t nbytes, NumBytes(dtype, shape));
    listing.arrays.push_back({std::move(entry->name), dtype, std::move(shape), nbytes});
  }
  return listing;
}

}  // namespace

absl::StatusOr<Listing> ListArrays(const std::string& location, const Arguments& arguments,
                                   Context& context, Details details) {
  if (details == Details::kOfFew) {
    TESSERA_ASSIGN_OR_RETURN(auto many, ListManyByIndex(location, arguments, context));
    if (many.has_value()) return *std::move(many);
  }
  TESSERA_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                           OpenCheckpoint(location, arguments, context, Reads::kMetadata));
  return ListingOf(location, checkpoint, arguments.Text("--match"), context);
}

std::vector<int64_t> KindsOf(const Listing& listing) {
  using Kind = std::tuple<DType, Dims, Dims, std::string_view>;
  absl::flat_hash_map<Kind, int64_t> numbers;
  std::vector<int64_t> kinds;
  kinds.reserve(listing.arrays.size());
  for (const ListedArray& array : listing.arrays) {
    const Kind kind(array.dtype, array.shape, array.chunk_shape, array.codec);
    kinds.push_back(numbers.try_emplace(kind, static_cast<int64_t>(numbers.size())).first->second);
  }
  return kinds;
}

std::string JsonText(const ListedArray& array) {
  const auto quoted = [](std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  return Concat("{\"key\":", quoted(array.key), ",\"dtype\":\"", DTypeName(array.dtype),
                "\",\"shape\":", ShapeText(array.shape),
                ",\"chunk_shape\":", ShapeText(array.chunk_shape),
                ",\"codec\":", quoted(array.codec), ",\"nbytes\":", array.nbytes,
                ",\"stored_bytes\":", array.stored_bytes, "}");
}

}  // namespace tessera::cli
