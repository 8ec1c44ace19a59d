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
#include "tessera/store/forwarding_store.h"
#include "tessera/store/key.h"

namespace tessera::commit {
namespace {

using store::ByteRange;
using store::Generation;
using store::KvStore;
using store::ListEntry;
using store::ReadRequest;
using store::ReadResult;
using store::ValueInfo;

class ReadOnlyStore : public store::ForwardingStore {
 public:
  explicit ReadOnlyStore(KvStore& base) : ForwardingStore(base) {}

  absl::StatusOr<ValueInfo> ReadPieces(std::string_view key, const ByteRange& range,
                                       std::span<std::byte> room, Sink sink,
                                       std::stop_token stop) override {
    return base().ReadPieces(key, range, room, sink, std::move(stop));
  }
  bool streams() const override { return base().streams(); }

  absl::StatusOr<Generation> Write(std::string_view key, std::span<const std::byte>,
                                   const std::optional<Generation>&, std::stop_token) final {
    return Refuse(key);
  }
  absl::StatusOr<ValueInfo> WritePieces(std::string_view key, Producer,
                                        const std::optional<Generation>&, std::stop_token) final {
    return Refuse(key);
  }
  absl::Status Delete(std::string_view key, const std::optional<Generation>&,
                      std::stop_token) final {
    return Refuse(key);
  }
  absl::Status DeletePrefix(std::string_view prefix, std::stop_token) final {
    return Refuse(prefix);
  }
  absl::Status MovePrefix(std::string_view from, std::string_view, std::stop_token) final {
    return Refuse(from);
  }
  absl::Status Reserve(std::string_view key, uint64_t, std::stop_token) final {
    return Refuse(key);
  }
  absl::Status WriteAt(std::string_view key, uint64_t, std::span<const std::byte>,
                       std::stop_token) final {
    return Refuse(key);
  }
  bool writes_parts() const final { return false; }

 private:
  absl::Status Refuse(std::string_view key) const {
    return FailedPrecondition(Describe(key), ": a view of a checkpoint is not written to");
  }
};

bool IsMissing(const ReadResult& result) { return !result.value.has_value(); }
bool IsMissing(const ValueInfo& info) { return info.missing(); }

class OverlayStore final : public ReadOnlyStore {
 public:
  OverlayStore(KvStore& base, const CommittedSave& save)
      : ReadOnlyStore(base),
        folder_(DataFolder(save.id)),
        staged_paths_(save.placement == Placement::kStaged ? PathSet(save.paths) : PathSet()),
        side_files_(save.side_files.begin(), save.side_files.end()),
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
        round.push_back({staged ? folder_ + key : key, requests[i].range});
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
    TESSERA_ASSIGN_OR_RETURN(const auto plain, base().List(prefix, stop));
    std::map<std::string, uint64_t> sizes;
    for (const ListEntry& entry : plain) {
      if (!Hidden(entry.key) && !entry.key.starts_with(folder_)) sizes[entry.key] = entry.size;
    }
    for (const ListEntry& entry : staged) sizes[entry.key.substr(folder_.size())] = entry.size;
    std::vector<ListEntry> entries;
    entries.reserve(sizes.size());
    for (const auto& [key, size] : sizes) entries.push_back({key, size});
    return entries;
  }

 private:
  bool Staged(std::string_view key) const {
    return side_files_.contains(std::string(key)) || staged_paths_.Over(key).has_value();
  }
  bool Hidden(std::string_view key) const {
    return obsolete_keys_.contains(std::string(key)) || obsolete_folders_.Over(key).has_value();
  }

  template <typename Result, typename Call>
  absl::StatusOr<Result> Look(std::string_view key, Call call) {
    TESSERA_RETURN_IF_ERROR(store::ValidateKey(key));
    if (Hidden(key)) return Result{};
    if (!Staged(key)) return call(key);
    const std::string staged = Concat(folder_, key);
    TESSERA_ASSIGN_OR_RETURN(Result result, call(staged));
    if (!IsMissing(result)) return result;
    TESSERA_ASSIGN_OR_RETURN(result, call(key));
    return IsMissing(result) ? call(staged) : std::move(result);
  }

  const std::string folder_;
  const PathSet staged_paths_;
  const std::unordered_set<std::string> side_files_;
  const std::unordered_set<std::string> obsolete_keys_;
  const PathSet obsolete_folders_;
};

}  // namespace

std::unique_ptr<KvStore> MakeOverlayStore(KvStore& base, std::optional<CommittedSave> save) {
  if (!save.has_value()) return std::make_unique<ReadOnlyStore>(base);
  return std::make_unique<OverlayStore>(base, *save);
}

}  // namespace tessera::commit
