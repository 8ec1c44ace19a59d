#include "tessera/checkpoint/verify.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tessera/checkpoint/detect_format.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/unsealed.h"
#include "tessera/checkpoint/verify_problems.h"
#include "tessera/checkpoint/verify_set.h"
#include "tessera/commit/transaction.h"
#include "tessera/commit/view.h"
#include "tessera/core/mutex.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/zarr/worker.h"

namespace tessera::checkpoint {
namespace {

// A value that a manifest or the index vouches for.
struct Vouched {
  std::string key;  // of the array
  std::string file;
  StoredValue value;
};

class Verifier {
 public:
  Verifier(store::KvStore& store, IoContext& io, const VerifyOptions& options, std::stop_token stop)
      : base_(store), io_(io), options_(options), stop_(std::move(stop)) {}

  absl::StatusOr<VerifyReport> Run() {
    TESSERA_ASSIGN_OR_RETURN(view_, commit::OpenView(base_, stop_));
    TESSERA_ASSIGN_OR_RETURN(const Detected detected,
                             DetectFormat(view_, options_.file, io_, stop_));
    if (detected.format == Format::kSafetensors) {
      return VerifySet(store(), detected.files, io_, options_, stop_);
    }
    TESSERA_RETURN_IF_ERROR(view_.index_text.has_value() ? FindIndexed()
                                                         : FindListed(detected.listing));
    TESSERA_RETURN_IF_ERROR(options_.quick ? CheckSizes() : CheckHashes());
    TESSERA_RETURN_IF_ERROR(CheckUnsealed());
    report_.problems = std::move(problems_).Sorted();
    return std::move(report_);
  }

 private:
  store::KvStore& store() { return *view_.store; }

  absl::Status FindIndexed() {
    const auto index = ledger::DecodeIndexFile(*view_.index_text);
    if (!index.ok()) {
      problems_.Add("", std::string(ledger::kIndexName), std::string(index.status().message()));
      return absl::OkStatus();
    }
    auto entries = EntriesOfIndex(*index, "", true);
    if (!entries.ok()) {
      problems_.Add("", std::string(ledger::kIndexName), std::string(entries.status().message()));
      return absl::OkStatus();
    }
    NameArrays(*entries);
    for (const ledger::StoredRecord& file : index->files) {
      vouched_.push_back({"", file.name, {file.size, file.hash}});
    }
    for (const auto& [prefix, note] : index->notes) {
      if (!note.manifest.empty()) TESSERA_RETURN_IF_ERROR(UseNote(*index, prefix, note.manifest));
    }
    TESSERA_RETURN_IF_ERROR(UseSeals(&*index));
    TESSERA_RETURN_IF_ERROR(FindOrphans(*index));
    return SortOut(*entries);
  }

  absl::Status FindListed(std::span<const store::ListEntry> listing) {
    TESSERA_ASSIGN_OR_RETURN(const Entries entries,
                             EntriesOfListing(store(), listing, "", true, view_.unfinished_paths));
    NameArrays(entries);
    TESSERA_RETURN_IF_ERROR(UseSeals(nullptr));
    return SortOut(entries);
  }

  void NameArrays(const Entries& entries) {
    for (const ArrayEntry& entry : entries.arrays) keys_[entry.path] = DottedKey(entry.key);
  }

  absl::Status UseNote(const ledger::TensorstoreIndex& index, const std::string& prefix,
                       const std::string& key) {
    if (!key.starts_with(commit::kOwnFolder)) {
      problems_.Add("", std::string(ledger::kIndexName),
                    Concat("the manifest ", Quoted(key), " of prefix ", Quoted(prefix),
                           " does not lie in ", commit::kOwnFolder));
      return absl::OkStatus();
    }
    const auto vouching = FindVouching(store(), prefix, key, stop_);
    if (!vouching.ok()) return Damaged(key, vouching.status());
    const std::optional<ledger::Manifest>& manifest = vouching->manifest;
    if (!manifest.has_value()) {
      problems_.Add("", key, "missing; the index names it");
      return absl::OkStatus();
    }
    if (manifest->prefix != prefix) {
      problems_.Add("", vouching->key,
                    Concat("it is the manifest of prefix ", Quoted(manifest->prefix),
                           ", expected that of ", Quoted(prefix)));
      return absl::OkStatus();
    }
    Use(*manifest, &index);
    return absl::OkStatus();
  }

  // Those of prefixes that no note vouches for.
  absl::Status UseSeals(const ledger::TensorstoreIndex* index) {
    TESSERA_ASSIGN_OR_RETURN(const auto seals, ListSeals(store(), stop_));
    for (const std::string& seal : seals) {
      auto manifest = ReadManifest(store(), seal, stop_);
      if (!manifest.ok()) {
        TESSERA_RETURN_IF_ERROR(Damaged(seal, manifest.status()));
      } else if (manifest->has_value() && !vouching_.contains((*manifest)->prefix)) {
        Use(**manifest, index);
      }
    }
    return absl::OkStatus();
  }

  // An index whose names were damaged may name no manifest at all, and all would seem unsealed.
  absl::Status FindOrphans(const ledger::TensorstoreIndex& index) {
    TESSERA_ASSIGN_OR_RETURN(const auto orphans, OrphanManifests(store(), index, stop_));
    for (const std::string& orphan : orphans) {
      problems_.Add("", orphan,
                    "no prefix of the index names this manifest; the index is damaged, "
                    "or a program that does not keep what it does not know rewrote it");
    }
    return absl::OkStatus();
  }

  absl::Status Damaged(const std::string& key, const absl::Status& status) {
    if (absl::IsCancelled(status) || absl::IsUnavailable(status)) return status;
    problems_.Add("", key, std::string(status.message()));
    return absl::OkStatus();
  }

  void Use(const ledger::Manifest& manifest, const ledger::TensorstoreIndex* index) {
    vouching_.insert(manifest.prefix);
    const Hash128 digest =
        index == nullptr ? Hash128{} : ledger::IndexDigest(*index, manifest.prefix);
    if (digest != manifest.index_digest) {
      problems_.Add("", std::string(ledger::kIndexName),
                    Concat("what it says of prefix ", Quoted(manifest.prefix),
                           " is not what was saved with the arrays; ", kDamagedOrReplaced));
    }
    for (const ledger::ArrayManifest& array : manifest.arrays) {
      const std::string path = PathInStore(array.path);
      const auto listed = keys_.find(path);
      const std::string key = listed == keys_.end() ? path : listed->second;
      sealed_.insert(path);
      ++report_.arrays;
      vouched_.push_back({key,
                          KeyBelow(path, array.metadata_name),
                          {array.metadata.size(), HashOf(array.metadata)}});
      for (const ledger::StoredRecord& chunk : array.chunks) {
        vouched_.push_back({key, KeyBelow(path, chunk.name), {chunk.size, chunk.hash}});
      }
      report_.chunks += static_cast<int64_t>(array.chunks.size());
    }
    for (const ledger::StoredRecord& file : manifest.files) {
      vouched_.push_back({"", file.name, {file.size, file.hash}});
    }
  }

  // Arrays that the index lists and nobody vouches for.
  absl::Status SortOut(const Entries& entries) {
    for (const ArrayEntry& entry : entries.arrays) {
      if (!sealed_.contains(entry.path)) unsealed_.push_back(entry);
    }
    return absl::OkStatus();
  }

  absl::Status CheckHashes() {
    for (const Vouched& vouched : vouched_) total_ += static_cast<int64_t>(vouched.value.size);
    return zarr::ForEachCell(io_, "verify", static_cast<int64_t>(vouched_.size()), kPieceBytes,
                             stop_,
                             [&](int64_t i, zarr::Worker& worker, const std::stop_token& stop) {
                               return CheckHash(vouched_[static_cast<size_t>(i)], worker, stop);
                             });
  }

  absl::Status CheckHash(const Vouched& vouched, zarr::Worker& worker,
                         const std::stop_token& stop) {
    const auto found = HashStored(store(), vouched.file, vouched.value.size,
                                  worker.stored.Resize(kPieceBytes), stop);
    Done(static_cast<int64_t>(vouched.value.size));
    if (!found.ok()) {
      if (absl::IsCancelled(found.status())) return found.status();
      problems_.Add(vouched.key, vouched.file, std::string(found.status().message()));
    } else if (std::string wrong = Difference(*found, vouched.value); !wrong.empty()) {
      problems_.Add(vouched.key, vouched.file, std::move(wrong));
    }
    return absl::OkStatus();
  }

  void AddSize(const Vouched& vouched, uint64_t found) {
    problems_.Add(vouched.key, vouched.file,
                  Concat("found ", found, " bytes, expected ", vouched.value.size));
  }

  absl::Status CheckSizes() {
    TESSERA_ASSIGN_OR_RETURN(const auto listed, store().List("", stop_));
    absl::flat_hash_map<std::string_view, uint64_t> sizes;
    for (const store::ListEntry& entry : listed) sizes.emplace(entry.key, entry.size);
    for (const Vouched& vouched : vouched_) {
      const auto found = sizes.find(vouched.file);
      if (found == sizes.end()) {
        problems_.Add(vouched.key, vouched.file,
                      Concat("missing; it had ", vouched.value.size, " bytes"));
      } else if (found->second != vouched.value.size) {
        AddSize(vouched, found->second);
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckUnsealed() {
    report_.unsealed_arrays = static_cast<int64_t>(unsealed_.size());
    for (const ArrayEntry& entry : unsealed_) {
      TESSERA_ASSIGN_OR_RETURN(UnsealedFindings findings,
                               CheckUnsealedArray(store(), entry, options_.quick, io_, stop_));
      ++report_.arrays;
      report_.chunks += findings.chunks;
      report_.absent_chunks += findings.absent_chunks;
      Done(findings.bytes);
      for (VerifyProblem& problem : findings.problems) {
        problems_.Add(std::move(problem.key), std::move(problem.file), std::move(problem.problem));
      }
    }
    return absl::OkStatus();
  }

  void Done(int64_t bytes) {
    MutexLock lock(progress_mutex_);
    report_.bytes += bytes;
    if (options_.progress) options_.progress(report_.bytes, std::max(total_, report_.bytes));
  }

  store::KvStore& base_;
  IoContext& io_;
  const VerifyOptions& options_;
  const std::stop_token stop_;
  commit::View view_;
  std::vector<Vouched> vouched_;
  absl::flat_hash_map<std::string, std::string> keys_;  // of the arrays, by path
  absl::flat_hash_set<std::string> vouching_;           // prefixes
  absl::flat_hash_set<std::string> sealed_;             // paths of arrays
  std::vector<ArrayEntry> unsealed_;
  int64_t total_ = 0;
  Problems problems_;
  Mutex progress_mutex_;
  VerifyReport report_;
};

}  // namespace

Json ToJson(const VerifyReport& report) {
  Json problems = Json::array();
  for (const VerifyProblem& problem : report.problems) {
    problems.push_back(
        {{"key", problem.key}, {"file", problem.file}, {"problem", problem.problem}});
  }
  return {
      {"ok", report.ok()},
      {"checked", {{"arrays", report.arrays}, {"chunks", report.chunks}, {"bytes", report.bytes}}},
      {"unsealed_arrays", report.unsealed_arrays},
      {"absent_chunks", report.absent_chunks},
      {"problems", std::move(problems)}};
}

absl::StatusOr<VerifyReport> VerifyCheckpoint(store::KvStore& store, IoContext& io,
                                              const VerifyOptions& options, std::stop_token stop) {
  return Verifier(store, io, options, std::move(stop)).Run();
}

}  // namespace tessera::checkpoint
