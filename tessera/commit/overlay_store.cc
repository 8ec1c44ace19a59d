#include "tessera/commit/overlay_store.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/commit/paths.h"
#include "tessera/commit/transaction.h"
#include "tessera/core/status.h"
#include "tessera/store/key.h"
#include "tessera/store/read_only_store.h"

namespace tessera::commit {
namespace {

using store::ByteRange;
using store::Generation;
using store::KvStore;
using store::ListEntry;
using store::ReadRequest;
using store::ReadResult;
using store::ValueInfo;

constexpr char kWhyNot[] = "a view of a checkpoint is not written to";

bool IsMissing(const ReadResult& result) { return !result.value.has_value(); }
bool IsMissing(const ValueInfo& info) { return info.missing(); }

class OverlayStore final : public store::ReadOnlyStore {
 public:
  OverlayStore(KvStore& base, const CommittedSave& save)
      : ReadOnlyStore(base, kWhyNot),
        folder_(DataFolder(save.id)),
        last_folder_(LastFolder(save.id)),
        staged_paths_(save.placement == Placement::kStaged ? PathSet(save.paths) : PathSet()),
        side_files_(save.side_files.begin(), save.side_files.end()),
        last_files_(save.last_files.begin(), save.last_files.end()),
        obsolete_keys_(save.obsolete_keys.begin(), save.obsolete_keys.end()),
        obsolete_folders_(save.obsolete_folders) {}

  absl::StatusOr<ReadResult> Read(std::string_view key, const ByteRange& range,
                                  std::stop_token stop) override {
    return Look<ReadResult>(key, [&](std::string_view at) { return base().Read(at, range, stop); });
  }
  absl::StatusOr<ValueInfo> ReadInto(std::string_view key, uint64_t offset,
                                     std::span<std::byte> target, std::stop_token stop) override {
    return Look<ValueInfo>(
        key, [&](std::string_view at) { return base().ReadInto(at, offset, target, stop); });
  }
  absl::StatusOr<ValueInfo> ReadAll(std::string_view key, std::span<std::byte> target,
                                    std::stop_token stop) override {
    return Look<ValueInfo>(key,
                           [&](std::string_view at) { return base().ReadAll(at, target, stop); });
  }
  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    return Look<ValueInfo>(
        key, [&](std::string_view at) { return base().ReadPieces(at, range, room, sink, stop); });
  }

  absl::StatusOr<Bytes> Map(std::string_view key, std::stop_token stop) override {
    const auto map = [&](std::string_view at) -> absl::StatusOr<ReadResult> {
      auto bytes = base().Map(at, stop);
      if (absl::IsNotFound(bytes.status())) return ReadResult{};
      if (!bytes.ok()) return bytes.status();
      return ReadResult{.value = *std::move(bytes), .generation = {}};
    };
    TESSERA_ASSIGN_OR_RETURN(ReadResult found, Look<ReadResult>(key, map));
    if (IsMissing(found)) return NotFound(Describe(key), ": no value to look at");
    return *std::move(found.value);
  }

  // One round for each of the places, of the requests that have no answer yet.
  absl::StatusOr<std::vector<ReadResult>> ReadMany(std::span<const ReadRequest> requests,
                                                   std::stop_token stop) override {
    std::vector<ReadResult> results(requests.size());
    for (const bool staged : {true, false, true}) {
      std::vector<size_t> places;
      std::vector<ReadRequest> round;
      for (size_t i = 0; i < requests.size(); ++i) {
        const std::string& key = requests[i].key;
        TESSERA_RETURN_IF_ERROR(store::ValidateKey(key));
        if (!IsMissing(results[i]) || Hidden(key) || (staged && !Staged(key))) continue;
        places.push_back(i);
        round.push_back({staged ? StagedKey(key) : key, requests[i].range});
      }
      if (round.empty()) continue;
      TESSERA_ASSIGN_OR_RETURN(auto found, base().ReadMany(round, stop));
      for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
    }
    return results;
  }

  absl::StatusOr<std::vector<ListEntry>> List(std::string_view prefix,
                                              std::stop_token stop) override {
    TESSERA_RETURN_IF_ERROR(store::ValidatePrefix(prefix));
    // The folder first: what moves away from it afterwards is then found in its place.
    TESSERA_ASSIGN_OR_RETURN(const auto staged, base().List(Concat(folder_, prefix), stop));
    std::vector<ListEntry> last;
    if (!last_files_.empty()) {
      TESSERA_ASSIGN_OR_RETURN(last, base().List(Concat(last_folder_, prefix), stop));
    }
    TESSERA_ASSIGN_OR_RETURN(const auto plain, base().List(prefix, stop));
    std::map<std::string, uint64_t> sizes;
    for (const ListEntry& entry : plain) {
      const std::string_view key = entry.key;
      const bool moves = key.starts_with(folder_) || key.starts_with(last_folder_);
      if (!moves && !Hidden(key)) sizes[entry.key] = entry.size;
    }
    for (const ListEntry& entry : staged) sizes[entry.key.substr(folder_.size())] = entry.size;
    for (const ListEntry& entry : last) sizes[entry.key.substr(last_folder_.size())] = entry.size;
    std::vector<ListEntry> entries;
    entries.reserve(sizes.size());
    for (const auto& [key, size] : sizes) entries.push_back({key, size});
    return entries;
  }

 private:
  bool Staged(std::string_view key) const {
    return side_files_.contains(std::string(key)) || staged_paths_.Over(key).has_value();
  }
  std::string StagedKey(std::string_view key) const {
    return Concat(last_files_.contains(std::string(key)) ? last_folder_ : folder_, key);
  }
  bool Hidden(std::string_view key) const {
    return obsolete_keys_.contains(std::string(key)) || obsolete_folders_.Over(key).has_value();
  }

  template <typename Result, typename Call>
  absl::StatusOr<Result> Look(std::string_view key, Call call) {
    TESSERA_RETURN_IF_ERROR(store::ValidateKey(key));
    if (Hidden(key)) return Result{};
    if (!Staged(key)) return call(key);
    const std::string staged = StagedKey(key);
    TESSERA_ASSIGN_OR_RETURN(Result result, call(staged));
    if (!IsMissing(result)) return result;
    TESSERA_ASSIGN_OR_RETURN(result, call(key));
    return IsMissing(result) ? call(staged) : std::move(result);
  }

  const std::string folder_;
  const std::string last_folder_;
  const PathSet staged_paths_;
  const std::unordered_set<std::string> side_files_;
  const std::unordered_set<std::string> last_files_;
  const std::unordered_set<std::string> obsolete_keys_;
  const PathSet obsolete_folders_;
};

}  // namespace

std::unique_ptr<KvStore> MakeOverlayStore(KvStore& base, std::optional<CommittedSave> save) {
  if (!save.has_value()) return std::make_unique<store::ReadOnlyStore>(base, kWhyNot);
  return std::make_unique<OverlayStore>(base, *save);
}

}  // namespace tessera::commit
