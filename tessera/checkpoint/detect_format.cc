#include "tessera/checkpoint/detect_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/ledger/index_file.h"
#include "tessera/safetensors/header.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/shard_names.h"
#include "tessera/store/concurrent.h"
#include "tessera/zarr/metadata.h"

namespace tessera::checkpoint {
namespace {

// The length of a header, and its first character.
constexpr uint64_t kFirstBytes = safetensors::kLengthBytes + 1;
// Of a text: enough to tell an index, whatever its metadata says.
constexpr uint64_t kFrontBytes = uint64_t{1} << 20;

bool IsTensorFile(std::span<const std::byte> first, uint64_t size) {
  return first.size() == kFirstBytes && first.back() == std::byte{'{'} &&
         safetensors::DecodeHeaderLength(first, size).ok();
}

bool BeginsAsObject(std::string_view first) {
  const size_t begin = first.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || first[begin] == '{';
}

// A set with the files that its index names.
FoundSet SetOfIndex(const std::string& name, std::string_view text) {
  FoundSet set{.name = name};
  const auto index = safetensors::DecodeIndexFile(text);
  set.readable = index.ok();
  if (!index.ok()) return set;
  absl::flat_hash_set<std::string> files;
  for (const auto& [tensor, file] : index->weight_map) files.insert(file);
  set.files.assign(files.begin(), files.end());
  std::sort(set.files.begin(), set.files.end());
  return set;
}

// What one file is; one that went away meanwhile is nothing.
struct FoundFile {
  bool has_tensors = false;
  std::optional<FoundSet> set = {};
};

absl::StatusOr<FoundFile> LookAtFile(store::KvStore& store, const store::ListEntry& entry,
                                     const std::stop_token& stop) {
  const auto read = [&](uint64_t most) {
    return store.Read(entry.key, {0, std::min(entry.size, most)}, stop);
  };
  FoundFile found;
  auto first = read(kFirstBytes);
  if (absl::IsOutOfRange(first.status())) return found;
  TESSERA_RETURN_IF_ERROR(first.status());
  if (!first->value.has_value()) return found;
  found.has_tensors = IsTensorFile(first->value->span(), entry.size);
  if (found.has_tensors || !BeginsAsObject(first->value->text())) return found;
  auto front = read(kFrontBytes);
  if (absl::IsOutOfRange(front.status())) return found;
  TESSERA_RETURN_IF_ERROR(front.status());
  if (!front->value.has_value() || !safetensors::LooksLikeIndexFile(front->value->text())) {
    return found;
  }
  const auto whole = read(safetensors::kMaxIndexBytes);
  TESSERA_RETURN_IF_ERROR(whole.status());
  if (whole->value.has_value()) found.set = SetOfIndex(entry.key, whole->value->text());
  return found;
}

// Files in the folder itself.  In one that is a zarr array or group they are its chunks.
std::vector<store::ListEntry> FilesToLookAt(std::span<const store::ListEntry> listing,
                                            std::span<const std::string> unfinished) {
  std::vector<store::ListEntry> files;
  for (const store::ListEntry& entry : listing) {
    if (entry.key == zarr::MetadataName(zarr::Format::kV2) ||
        entry.key == zarr::MetadataName(zarr::Format::kV3)) {
      return {};
    }
    if (entry.key.find('/') != std::string::npos || IsBelow(entry.key, unfinished)) continue;
    files.push_back(entry);
  }
  return files;
}

// Those that no set names.
std::vector<std::string> LooseFiles(const FolderFacts& facts) {
  absl::flat_hash_set<std::string_view> named;
  for (const FoundSet& set : facts.sets) {
    if (!set.readable) return {};
    named.insert(set.name);
    named.insert(set.files.begin(), set.files.end());
  }
  std::vector<std::string> loose;
  for (const std::string& file : facts.tensor_files) {
    if (!named.contains(file)) loose.push_back(file);
  }
  return loose;
}

bool IsWholeSeries(std::span<const std::string> files) {
  const std::string stem = safetensors::DeriveBasePrefixFromPath(files.front());
  for (size_t i = 0; i < files.size(); ++i) {
    const auto name = safetensors::ShardFilename(stem, static_cast<int64_t>(i) + 1,
                                                 static_cast<int64_t>(files.size()));
    if (!name.ok() || *name != files[i]) return false;
  }
  return true;
}

// What a manifest calls the sets that it is for; without those of prefixes.
std::vector<std::string> VouchedNames(std::span<const store::ListEntry> listing) {
  std::vector<std::string> names;
  for (const store::ListEntry& entry : listing) {
    auto name = PrefixOfSeal(entry.key);
    if (name.has_value() && !name->empty()) names.push_back(*std::move(name));
  }
  return names;
}

void AddSet(FoundSet set, std::vector<FoundSet>& sets) {
  for (FoundSet& known : sets) {
    if (known.name != set.name) continue;
    known.files.insert(known.files.end(), set.files.begin(), set.files.end());
    known.readable = true;
    return;
  }
  sets.push_back(std::move(set));
}

// One that cannot be read vouches for nothing here; whoever opens the set will say so.
absl::Status AddVouched(store::KvStore& store, std::span<const std::string> names,
                        FolderFacts& facts, const std::stop_token& stop) {
  for (const std::string& name : names) {
    const auto manifest = ReadManifest(store, SealKey(name), stop);
    if (absl::IsCancelled(manifest.status()) || absl::IsUnavailable(manifest.status())) {
      return manifest.status();
    }
    if (!manifest.ok() || !manifest->has_value()) continue;
    FoundSet set{.name = name, .files = FilesOfSet(**manifest), .has_index = false};
    if (set.files.empty()) continue;
    for (const ledger::StoredRecord& file : (*manifest)->files) {
      set.has_index |= file.name == name;
    }
    AddSet(std::move(set), facts.sets);
  }
  return absl::OkStatus();
}

// One that was replaced gets an index before its files are deleted and loses it after them: then
// the listing may lack some of them, which must not pass for a smaller checkpoint.
absl::Status CheckStillNoIndex(store::KvStore& store, const std::stop_token& stop) {
  const auto index = store.Read(ledger::kIndexName, {.offset = 0, .length = 0}, stop);
  TESSERA_RETURN_IF_ERROR(index.status());
  if (!index->value.has_value()) return absl::OkStatus();
  return Aborted(store.Describe(ledger::kIndexName), ": was written while this was opened");
}

}  // namespace

std::string_view FormatName(Format format) {
  switch (format) {
    case Format::kTensorstore:
      return "tensorstore";
    case Format::kSafetensors:
      return "safetensors";
    case Format::kZarr:
      return "zarr";
  }
  return "unknown";
}

absl::StatusOr<std::vector<std::string>> DecideSet(const FolderFacts& facts) {
  std::vector<std::string> loose = LooseFiles(facts);
  if (facts.sets.empty() && (loose.size() <= 1 || IsWholeSeries(loose))) return loose;
  if (facts.sets.size() == 1 && loose.empty()) {
    const FoundSet& set = facts.sets.front();
    return set.has_index ? std::vector<std::string>{set.name} : set.files;
  }
  std::string text;
  int64_t count = 0;
  const auto add = [&](const std::string& name) {
    constexpr int64_t kMost = 20;
    if (++count <= kMost) text += Concat(count == 1 ? "" : ", ", Quoted(name));
    if (count == kMost + 1) text += ", ...";
  };
  for (const FoundSet& set : facts.sets) add(set.name);
  for (const std::string& file : loose) add(file);
  return InvalidArgument(count, " sets of safetensors files are here (", text,
                         "), so the file of one must be named");
}

absl::StatusOr<FolderFacts> LookAtFiles(store::KvStore& store,
                                        std::span<const store::ListEntry> listing,
                                        std::span<const std::string> unfinished, IoContext& io,
                                        std::stop_token stop) {
  const std::vector<store::ListEntry> files = FilesToLookAt(listing, unfinished);
  std::vector<FoundFile> found(files.size());
  FolderFacts facts;
  if (files.empty()) return facts;
  TESSERA_RETURN_IF_ERROR(store::ForEachIndex(
      io.pool(), io.pool().size(), files.size(), "looking at the files", std::move(stop),
      [&](size_t i, const std::stop_token& stopped) -> absl::Status {
        TESSERA_ASSIGN_OR_RETURN(found[i], LookAtFile(store, files[i], stopped));
        return absl::OkStatus();
      }));
  for (size_t i = 0; i < files.size(); ++i) {
    if (found[i].has_tensors) facts.tensor_files.push_back(files[i].key);
    if (found[i].set.has_value()) facts.sets.push_back(*std::move(found[i].set));
  }
  return facts;
}

absl::StatusOr<Detected> DetectFormat(const commit::View& view, std::string_view file,
                                      IoContext& io, std::stop_token stop) {
  if (!file.empty()) return Detected{Format::kSafetensors, {std::string(file)}};
  if (view.index_text.has_value()) return Detected{Format::kTensorstore};
  store::KvStore& store = *view.store;
  TESSERA_ASSIGN_OR_RETURN(std::vector<store::ListEntry> listing, store.List("", stop));
  TESSERA_RETURN_IF_ERROR(CheckStillNoIndex(store, stop));
  TESSERA_ASSIGN_OR_RETURN(FolderFacts facts,
                           LookAtFiles(store, listing, view.unfinished_paths, io, stop));
  auto files = DecideSet(facts);
  const std::vector<std::string> vouched = VouchedNames(listing);
  const bool agree = files.ok() && std::all_of(vouched.begin(), vouched.end(), [&](auto& name) {
                       return !files->empty() && files->front() == name;
                     });
  if (!agree) {
    TESSERA_RETURN_IF_ERROR(AddVouched(store, vouched, facts, stop));
    files = DecideSet(facts);
  }
  if (!files.ok()) return Prefixed(files.status(), store.Describe(""));
  if (files->empty()) return Detected{Format::kZarr, {}, std::move(listing)};
  return Detected{Format::kSafetensors, *std::move(files)};
}

}  // namespace tessera::checkpoint
