#include "tessera/commit/roll_forward.h"

#include <condition_variable>
#include <mutex>
#include <span>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/ledger/index_file.h"

namespace tessera::commit {
namespace {

using store::KvStore;

// Other programs write the index without a rename, so that it may be found half written.
constexpr int kMostIndexReads = 10;
constexpr auto kIndexDelay = std::chrono::milliseconds(20);
constexpr int kMostIndexWrites = 1000;

bool IsIndex(const std::optional<std::string>& text) {
  return !text.has_value() || ledger::DecodeIndexFile(*text).ok();
}

absl::StatusOr<StoredText> ReadWholeIndex(KvStore& store, const std::stop_token& stop) {
  for (int i = 1;; ++i) {
    TESSERA_ASSIGN_OR_RETURN(StoredText index, ReadText(store, ledger::kIndexName, stop));
    if (IsIndex(index.text) || i == kMostIndexReads || stop.stop_requested()) return index;
    SleepFor(kIndexDelay, stop);
  }
}

absl::Status DeleteObsolete(KvStore& store, const CommittedSave& save,
                            const std::stop_token& stop) {
  for (const std::string& folder : save.obsolete_folders) {
    TESSERA_RETURN_IF_ERROR(store.DeletePrefix(Concat(folder, "/"), stop));
  }
  for (const std::string& key : save.obsolete_keys) {
    if (stop.stop_requested()) return Cancelled(store.Describe(key), ": stopped while deleting");
    TESSERA_RETURN_IF_ERROR(store.Delete(key, std::nullopt, stop));
  }
  return absl::OkStatus();
}

// The others are in their places.  Old files are what readers find until the last ones are
// replaced.
absl::Status EndFiles(KvStore& store, const CommittedSave& save, const std::stop_token& stop) {
  if (!save.last_files.empty()) {
    TESSERA_RETURN_IF_ERROR(store.MovePrefix(LastFolder(save.id), "", stop));
    TESSERA_RETURN_IF_ERROR(store.Flush(stop));
  }
  return DeleteObsolete(store, save, stop);
}

absl::Status ReplaceIndex(KvStore& store, const CommittedSave& save, const std::stop_token& stop) {
  if (!save.index.has_value()) return absl::OkStatus();
  for (int i = 1;; ++i) {
    TESSERA_ASSIGN_OR_RETURN(const StoredText index, ReadWholeIndex(store, stop));
    const auto after = IndexAfter(index.text, save);
    if (!after.ok()) return Prefixed(after.status(), store.Describe(ledger::kIndexName));
    if (*after == index.text) return absl::OkStatus();
    const std::string& text = **after;
    const auto written =
        store.Write(ledger::kIndexName, std::as_bytes(std::span(text)), index.generation, stop);
    // Another program was faster; what it wrote is to be kept.
    if (!absl::IsAborted(written.status()) || i == kMostIndexWrites) return written.status();
  }
}

}  // namespace

absl::StatusOr<StoredText> ReadText(KvStore& store, std::string_view key,
                                    const std::stop_token& stop) {
  TESSERA_ASSIGN_OR_RETURN(const store::ReadResult result,
                           store.Read(key, store::ByteRange::AtMost(kMostRecordBytes), stop));
  StoredText stored{std::nullopt, result.generation};
  if (result.value.has_value()) stored.text = std::string(result.value->text());
  return stored;
}

absl::StatusOr<std::optional<std::string>> IndexAfter(const std::optional<std::string>& now,
                                                      const CommittedSave& save) {
  if (!save.index.has_value()) return now;
  const std::optional<std::string>& base = IsIndex(now) ? now : save.index_before;
  std::optional<std::string_view> before;
  if (base.has_value()) before = *base;
  return ledger::ApplyIndexChange(before, *save.index);
}

absl::Status RollForward(KvStore& store, const CommittedSave& save,
                         const store::Generation& generation, const std::stop_token& stop) {
  // An array may lie where a folder was, so the old one goes first.
  if (!save.is_files) TESSERA_RETURN_IF_ERROR(DeleteObsolete(store, save, stop));
  // Data and side files lie together; where there are neither, this does nothing.
  TESSERA_RETURN_IF_ERROR(store.MovePrefix(DataFolder(save.id), "", stop));
  TESSERA_RETURN_IF_ERROR(store.Flush(stop));
  if (save.is_files) TESSERA_RETURN_IF_ERROR(EndFiles(store, save, stop));
  TESSERA_RETURN_IF_ERROR(ReplaceIndex(store, save, stop));
  TESSERA_RETURN_IF_ERROR(store.Flush(stop));
  TESSERA_RETURN_IF_ERROR(store.DeletePrefix(SaveKey(save.id), stop));
  TESSERA_RETURN_IF_ERROR(store.Delete(kCommitKey, generation, stop));
  // A record that came back after a power cut would undo what others do from now on.
  return store.Flush(stop);
}

void SleepFor(std::chrono::nanoseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace tessera::commit
