// verify, hash, seal, index_open and make_index: looking at checkpoints without loading them.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/ours/verbs.h"
#include "tessera/array/value.h"
#include "tessera/checkpoint/open.h"
#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/read_index.h"
#include "tessera/checkpoint/save_tree.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/core/io_context.h"
#include "tessera/core/status.h"
#include "tessera/inspect/hash_arrays.h"
#include "tessera/ledger/index_file.h"

namespace tessera::bench {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

absl::Status Nothing() { return absl::OkStatus(); }

struct Hashes {
  int64_t bytes = 0;  // of the elements
  std::vector<std::string> texts;
};

// As `tessera hash` does it, in the order of names with slashes.
absl::StatusOr<Hashes> HashAll(const std::string& dir, IoContext& io) {
  TESSERA_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                           Checkpoint::OpenAt(dir, io, {.all_prefixes = true}));
  Hashes hashes;
  std::vector<std::pair<std::string, const CheckpointArray*>> by_name;
  for (const CheckpointArray& array : checkpoint.arrays()) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype(), array.shape()));
    hashes.bytes += bytes;
    by_name.emplace_back(array.RuleName(), &array);
  }
  std::sort(by_name.begin(), by_name.end());
  std::vector<const CheckpointArray*> arrays;
  for (const auto& [name, array] : by_name) arrays.push_back(array);
  TESSERA_ASSIGN_OR_RETURN(hashes.texts, inspect::HashArrays(checkpoint, arrays, {.io = io}));
  return hashes;
}

// Arrays [4,4] of float32 in layers of ten, each with its number in every element.
absl::StatusOr<array::ValueTree> MakeLayers(int64_t arrays) {
  constexpr const char* kNames[] = {"q_proj", "k_proj", "v_proj", "o_proj", "up",
                                    "down",   "gate",   "norm1",  "norm2",  "bias"};
  constexpr int64_t kInLayer = std::size(kNames);
  array::ValueTree::Items layers;
  for (int64_t first = 0; first < arrays; first += kInLayer) {
    array::ValueTree::Items layer;
    for (int64_t i = first; i < std::min(arrays, first + kInLayer); ++i) {
      const std::vector<float> elements(16, static_cast<float>(i));
      TESSERA_ASSIGN_OR_RETURN(
          const auto made,
          array::HostArray::CopyOf({{4, 4}, DType::kFloat32}, std::as_bytes(std::span(elements))));
      layer.emplace_back(kNames[i - first], made);
    }
    TESSERA_ASSIGN_OR_RETURN(auto dict, array::ValueTree::Dict(std::move(layer)));
    layers.emplace_back(Concat("layer", first / kInLayer), std::move(dict));
  }
  return array::ValueTree::Dict(std::move(layers));
}

}  // namespace

absl::StatusOr<Result> Verify(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  IoContext io;
  checkpoint::VerifyReport report;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(
      result.measured, Measure(warm, Nothing, [&]() -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const auto location,
                                 checkpoint::OpenLocation(arguments.Text("dir")));
        TESSERA_ASSIGN_OR_RETURN(
            report, checkpoint::VerifyCheckpoint(*location.store, io, {.file = location.file}));
        return absl::OkStatus();
      }));
  if (!report.ok()) {
    return DataLoss(report.problems[0].file, ": ", report.problems[0].problem, "; ",
                    report.problems.size(), " problems in all");
  }
  result.bytes = report.bytes;
  result.more = {{"arrays", report.arrays},
                 {"chunks", report.chunks},
                 {"unsealed_arrays", report.unsealed_arrays}};
  return result;
}

absl::StatusOr<Result> Seal(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  IoContext io;
  checkpoint::SealReport report;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(
      result.measured, Measure(warm, Nothing, [&]() -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const auto location,
                                 checkpoint::OpenLocation(arguments.Text("dir")));
        TESSERA_ASSIGN_OR_RETURN(
            report, checkpoint::SealCheckpoint(*location.store, io, {.file = location.file}));
        return absl::OkStatus();
      }));
  result.bytes = report.bytes;
  result.more = {{"chunks", report.chunks}};
  return result;
}

absl::StatusOr<Result> Hash(const Arguments& arguments) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const bool wants_digest, arguments.digest());
  IoContext io;
  Hashes hashes;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured, Measure(warm, Nothing, [&]() -> absl::Status {
                             TESSERA_ASSIGN_OR_RETURN(hashes, HashAll(arguments.Text("dir"), io));
                             return absl::OkStatus();
                           }));
  result.bytes = hashes.bytes;
  result.more = {{"arrays", static_cast<int64_t>(hashes.texts.size())}};
  if (!wants_digest) return result;
  Digest digest;
  for (const std::string& text : hashes.texts) digest.Add(text);
  result.digest = digest.Hex();
  return result;
}

absl::StatusOr<Result> IndexOpen(const Arguments& arguments) {
  const std::string dir = arguments.Text("dir");
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  std::optional<checkpoint::IndexListing> listing;
  const auto drop = [&] {
    listing.reset();
    return absl::OkStatus();
  };
  Result result;
  TESSERA_ASSIGN_OR_RETURN(
      result.measured, Measure(warm, drop, [&]() -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(const auto location, checkpoint::OpenLocation(dir));
        TESSERA_ASSIGN_OR_RETURN(listing, checkpoint::ReadIndex(*location.store, "", true));
        return absl::OkStatus();
      }));
  const std::filesystem::path index = std::filesystem::path(dir) / ledger::kIndexName;
  if (!listing.has_value()) return NotFound(index.string(), " is not there");
  // Of the index itself: nothing else is read.
  std::error_code error;
  result.bytes = static_cast<int64_t>(std::filesystem::file_size(index, error));
  if (error) return FailedPrecondition(index.string(), ": ", error.message());
  result.more = {{"arrays", static_cast<int64_t>(listing->arrays.size())}};
  return result;
}

absl::StatusOr<Result> MakeIndex(const Arguments& arguments) {
  const std::string dir = arguments.Text("dir");
  TESSERA_ASSIGN_OR_RETURN(const int64_t count, arguments.Count("arrays"));
  TESSERA_ASSIGN_OR_RETURN(const int64_t warm, arguments.warm());
  TESSERA_ASSIGN_OR_RETURN(const array::ValueTree layers, MakeLayers(count));
  IoContext io;
  checkpoint::SaveReport report;
  Result result;
  TESSERA_ASSIGN_OR_RETURN(result.measured,
                           Measure(
                               warm, [&] { return Remove(dir); },
                               [&]() -> absl::Status {
                                 TESSERA_ASSIGN_OR_RETURN(
                                     report, checkpoint::Save(layers).To(dir).Run({.io = &io}));
                                 return absl::OkStatus();
                               }));
  result.bytes = report.nbytes;
  result.more = {{"arrays", report.arrays}, {"stored_bytes", report.stored_bytes}};
  return result;
}

}  // namespace tessera::bench
