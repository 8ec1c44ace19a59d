#include "tessera/convert/source.h"

#include <utility>

#include "tessera/checkpoint/stored_values.h"
#include "tessera/commit/view.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/zarr/metadata.h"

namespace tessera::convert {
namespace {

// What is longer is not what eformer writes.
constexpr uint64_t kMostMetadataBytes = uint64_t{256} << 20;

// The prefixes that an index has lists for, "" for the list without one.
absl::StatusOr<std::vector<std::string>> PrefixesOf(const checkpoint::Checkpoint& checkpoint,
                                                    const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const commit::View view, commit::OpenView(checkpoint.store(), stop));
  if (!view.index_text.has_value()) {
    return Aborted(checkpoint.store().Describe(ledger::kIndexName),
                   ": it went away while the source was opened");
  }
  TESSERA_ASSIGN_OR_RETURN(const ledger::TensorstoreIndex index,
                           ledger::DecodeIndexFile(view.index_text->text()));
  std::vector<std::string> prefixes;
  if (index.prefixes.has_value()) {
    for (const auto& [prefix, records] : *index.prefixes) prefixes.push_back(prefix);
  }
  if (index.arrays.has_value() || prefixes.empty()) prefixes.emplace_back();
  return prefixes;
}

absl::StatusOr<std::optional<std::string>> ReadMetadata(const checkpoint::Checkpoint& checkpoint,
                                                        const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(
      const store::ReadResult read,
      checkpoint.store().Read(ledger::kCheckpointMetadataName,
                              store::ByteRange::AtMost(kMostMetadataBytes), stop));
  if (!read.value.has_value()) return std::nullopt;
  return std::string(read.value->text());
}

// The generations of metadata documents that no manifest vouches for.
absl::StatusOr<std::string> GenerationsOf(const SourceList& list, const std::stop_token& stop) {
  std::vector<store::ReadRequest> requests;
  for (const checkpoint::CheckpointArray& array : list.checkpoint.arrays()) {
    if (array.manifest != nullptr || array.zarr() == nullptr) continue;
    requests.push_back({checkpoint::KeyBelow(array.path, zarr::MetadataName(array.zarr()->format)),
                        {.length = 0}});
  }
  TESSERA_ASSIGN_OR_RETURN(const auto found, list.checkpoint.store().ReadMany(requests, stop));
  std::string text;
  for (const store::ReadResult& result : found) text += Concat(result.generation.token, "\n");
  return text;
}

absl::StatusOr<std::string> StateOf(const ConvertSource& source, const std::stop_token& stop) {
  Hasher128 hasher;
  const auto add = [&](std::string_view text) {
    const std::string sized = Concat(text.size(), " ", text);
    hasher.Update(std::as_bytes(std::span(sized)));
  };
  for (const SourceList& list : source.lists) {
    add(list.prefix);
    add(list.checkpoint.state_id());
    TESSERA_ASSIGN_OR_RETURN(const std::string generations, GenerationsOf(list, stop));
    add(generations);
    for (const checkpoint::CheckpointArray& array : list.checkpoint.arrays()) {
      add(array.path);
      if (array.tensor() != nullptr) add(array.tensor()->file().generation.token);
      if (array.manifest == nullptr) continue;
      for (const ledger::StoredRecord& chunk : array.manifest->chunks) add(chunk.hash.Hex());
    }
  }
  return hasher.Finish().Hex();
}

absl::StatusOr<ConvertSource> OpenLists(std::string_view location,
                                        const std::optional<std::string>& prefix, IoContext& io,
                                        const std::stop_token& stop) {
  checkpoint::OpenOptions options{.prefix = prefix.value_or(""),
                                  .all_prefixes = !prefix.has_value()};
  TESSERA_ASSIGN_OR_RETURN(checkpoint::Checkpoint first,
                           checkpoint::Checkpoint::OpenAt(location, io, options, stop));
  ConvertSource source;
  if (first.format() != checkpoint::Format::kTensorstore) {
    source.lists.push_back({first.prefix(), std::move(first)});
    return source;
  }
  TESSERA_ASSIGN_OR_RETURN(source.checkpoint_metadata, ReadMetadata(first, stop));
  if (prefix.has_value()) {
    source.lists.push_back({first.prefix(), std::move(first)});
    return source;
  }
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> prefixes, PrefixesOf(first, stop));
  for (const std::string& each : prefixes) {
    options = {.prefix = each};
    TESSERA_ASSIGN_OR_RETURN(checkpoint::Checkpoint list,
                             checkpoint::Checkpoint::OpenAt(location, io, options, stop));
    if (list.state_id() != first.state_id()) {
      return Aborted(Quoted(location), ": a save replaced it while it was opened");
    }
    source.lists.push_back({each, std::move(list)});
  }
  source.shows_prefixes = prefixes.size() > 1;
  return source;
}

}  // namespace

std::vector<SourceArray> ConvertSource::Arrays() const {
  std::vector<SourceArray> arrays;
  for (const SourceList& list : lists) {
    for (const checkpoint::CheckpointArray& array : list.checkpoint.arrays()) {
      arrays.push_back({&list, &array});
    }
  }
  return arrays;
}

absl::StatusOr<ConvertSource> OpenSource(std::string_view location,
                                         const std::optional<std::string>& prefix, IoContext& io,
                                         std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(ConvertSource source, OpenLists(location, prefix, io, stop));
  TESSERA_ASSIGN_OR_RETURN(source.state, StateOf(source, stop));
  return source;
}

absl::StatusOr<TargetFormat> FormatOf(const ConvertSource& source) {
  const checkpoint::Checkpoint& first = source.lists.front().checkpoint;
  if (first.format() == checkpoint::Format::kTensorstore) return TargetFormat::kTensorstore;
  if (first.format() == checkpoint::Format::kSafetensors) return TargetFormat::kSafetensors;
  const checkpoint::CheckpointArray* of_v2 = nullptr;
  const checkpoint::CheckpointArray* of_v3 = nullptr;
  for (const checkpoint::CheckpointArray& array : first.arrays()) {
    (array.zarr()->format == zarr::Format::kV2 ? of_v2 : of_v3) = &array;
  }
  if (of_v2 != nullptr && of_v3 != nullptr) {
    return InvalidArgument("the source is of no one format: ", Quoted(of_v2->name), " is zarr2, ",
                           Quoted(of_v3->name), " is zarr3");
  }
  return of_v2 != nullptr ? TargetFormat::kZarr2 : TargetFormat::kZarr3;
}

}  // namespace tessera::convert
