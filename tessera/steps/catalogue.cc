#include "tessera/steps/catalogue.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"
#include "tessera/ledger/metadata_file.h"
#include "tessera/steps/step_mark.h"

namespace tessera::steps {
namespace {

constexpr std::string_view kRunPrefix = "run-";
constexpr std::string_view kSavesFolder = ".tessera/saves/";
constexpr uint64_t kMaxRunMetadataBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;

// What the keys of one folder tell.
struct Folder {
  std::string path;
  std::optional<int64_t> run_step;  // of its name
  uint64_t bytes = 0;
  bool has_metadata = false;
  bool has_index = false;
  bool has_unfinished_save = false;
  bool has_mark = false;
};

std::string Joined(std::string_view base, std::string_view name) {
  if (base.empty() || name.empty()) return Concat(base, name);
  return Concat(base, "/", name);
}

void NoteKey(std::string_view name, uint64_t size, Folder& folder) {
  folder.bytes += size;
  if (name == ledger::kRunMetadataName) folder.has_metadata = true;
  if (name == ledger::kIndexName) folder.has_index = true;
  if (name.starts_with(kSavesFolder)) folder.has_unfinished_save = true;
  if (name == kStepMarkName) folder.has_mark = true;
}

// Sorts the keys below a base into its folders.
class FolderFinder {
 public:
  explicit FolderFinder(std::string_view base) : base_(base), root_{std::string(base), {}} {}

  void Add(const store::ListEntry& entry) {
    const std::string_view below =
        std::string_view(entry.key).substr(base_.empty() ? 0 : base_.size() + 1);
    const size_t slash = below.find('/');
    if (slash == std::string_view::npos) return NoteKey(below, entry.size, root_);
    if (below.starts_with(kSavesFolder)) root_.has_unfinished_save = true;
    NoteKey(below.substr(slash + 1), entry.size, FolderOf(below.substr(0, slash)));
  }

  // What no candidate holds is the base's own.
  std::vector<Folder> Candidates() && {
    std::vector<Folder> candidates;
    for (auto& [name, folder] : folders_) {
      if (folder.run_step.has_value() || folder.has_metadata) {
        candidates.push_back(std::move(folder));
      } else {
        root_.bytes += folder.bytes;
      }
    }
    if (root_.has_metadata) candidates.push_back(std::move(root_));
    return candidates;
  }

 private:
  Folder& FolderOf(std::string_view name) {
    const auto found = folders_.find(name);
    if (found != folders_.end()) return found->second;
    Folder folder{Joined(base_, name), StepOfRunFolder(name)};
    return folders_.emplace(std::string(name), std::move(folder)).first->second;
  }

  std::string_view base_;
  std::map<std::string, Folder, std::less<>> folders_;
  Folder root_;
};

// The text under a key, nullopt when there is none.  OutOfRange when it is too long.
absl::StatusOr<std::optional<std::string>> ReadText(store::KvStore& store, const std::string& key,
                                                    uint64_t most, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto result,
                           store.Read(key, store::ByteRange::AtMost(most), stop));
  if (!result.value.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(result.value->text());
}

class FolderReader {
 public:
  FolderReader(store::KvStore& store, std::stop_token stop) : store_(store), stop_(stop) {}

  absl::StatusOr<StepInfo> Read(const Folder& folder) {
    StepInfo info;
    info.path = folder.path;
    info.bytes = folder.bytes;
    info.step = folder.run_step;
    TESSERA_RETURN_IF_ERROR(ReadMetadata(folder, info));
    TESSERA_RETURN_IF_ERROR(ReadMark(folder, info));
    if (!info.committed && folder.has_index && !folder.has_unfinished_save && !folder.has_mark) {
      TESSERA_ASSIGN_OR_RETURN(info.committed, HasReadableIndex(folder, info));
    }
    return info;
  }

 private:
  // Sets `committed` when it can be read.
  absl::Status ReadMetadata(const Folder& folder, StepInfo& info) {
    if (!folder.has_metadata) return absl::OkStatus();
    const auto text = ReadText(store_, Joined(folder.path, ledger::kRunMetadataName),
                               kMaxRunMetadataBytes, stop_);
    if (!text.ok() && !absl::IsOutOfRange(text.status())) return text.status();
    // Deleted since it was listed.
    if (text.ok() && !text->has_value()) return absl::OkStatus();
    const auto metadata = text.ok() ? ledger::DecodeRunMetadata(**text) : text.status();
    if (!metadata.ok()) {
      info.metadata_readable = false;
      info.problem =
          Concat(ledger::kRunMetadataName, ": ", std::string(metadata.status().message()));
      return absl::OkStatus();
    }
    info.committed = true;
    info.temporary = metadata->is_temporary;
    info.timestamp = metadata->timestamp;
    NoteStep(metadata->step, info);
    return absl::OkStatus();
  }

  absl::Status ReadMark(const Folder& folder, StepInfo& info) {
    if (!folder.has_mark) return absl::OkStatus();
    TESSERA_ASSIGN_OR_RETURN(const auto mark, ReadStepMark(store_, folder.path, stop_));
    info.deleting = mark == StepMark::kDeleting;
    if (info.deleting) info.committed = false;
    return absl::OkStatus();
  }

  static void NoteStep(int64_t step, StepInfo& info) {
    if (!info.step.has_value() && step >= 0) info.step = step;
    if (step >= 0 && info.step != step) {
      info.problem =
          Concat(ledger::kRunMetadataName, ": expected step ", *info.step, ", found ", step);
    }
  }

  absl::StatusOr<bool> HasReadableIndex(const Folder& folder, StepInfo& info) {
    const auto text =
        ReadText(store_, Joined(folder.path, ledger::kIndexName), kMaxIndexBytes, stop_);
    if (!text.ok() && !absl::IsOutOfRange(text.status())) return text.status();
    if (text.ok() && !text->has_value()) return false;
    const absl::Status status =
        text.ok() ? ledger::DecodeIndexFile(**text).status() : text.status();
    if (!status.ok() && info.problem.empty()) {
      info.problem = Concat(ledger::kIndexName, ": ", std::string(status.message()));
    }
    return status.ok();
  }

  store::KvStore& store_;
  std::stop_token stop_;
};

}  // namespace

std::string RunFolderName(int64_t step) { return Concat(kRunPrefix, step); }

std::optional<int64_t> StepOfRunFolder(std::string_view name) {
  if (!name.starts_with(kRunPrefix)) return std::nullopt;
  int64_t step = 0;
  const std::string_view digits = name.substr(kRunPrefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // Numbers that are written in another way would make two names of one step.
  if (RunFolderName(step) != name || step < 0) return std::nullopt;
  return step;
}

absl::StatusOr<Catalogue> ReadCatalogue(store::KvStore& store, std::string_view base,
                                        LatestBy latest_by, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(const auto entries,
                           store.List(base.empty() ? std::string() : Concat(base, "/"), stop));
  FolderFinder finder(base);
  for (const store::ListEntry& entry : entries) finder.Add(entry);
  Catalogue catalogue;
  FolderReader reader(store, stop);
  for (const Folder& folder : std::move(finder).Candidates()) {
    TESSERA_ASSIGN_OR_RETURN(StepInfo info, reader.Read(folder));
    catalogue.steps.push_back(std::move(info));
  }
  std::sort(catalogue.steps.begin(), catalogue.steps.end(),
            [](const StepInfo& a, const StepInfo& b) {
              return std::pair(a.step, std::string_view(a.path)) <
                     std::pair(b.step, std::string_view(b.path));
            });
  catalogue.latest = LatestStep(catalogue.steps, latest_by);
  return catalogue;
}

}  // namespace tessera::steps
