#include "tessera/checkpoint/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "tessera/checkpoint/byte_progress.h"
#include "tessera/checkpoint/detect_format.h"
#include "tessera/checkpoint/open_entries.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/unsealed.h"
#include "tessera/checkpoint/verify_problems.h"
#include "tessera/checkpoint/verify_set.h"
#include "tessera/checkpoint/verify_shares.h"
#include "tessera/commit/transaction.h"
#include "tessera/commit/view.h"
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
      : base_(store),
        io_(io),
        options_(options),
        stop_(std::move(stop)),
        shares_(options.comm),
        progress_(options.progress) {}

  // What this rank finds.
  absl::StatusOr<RankFindings> Run() {
    TESSERA_ASSIGN_OR_RETURN(view_, commit::OpenView(base_, stop_));
    TESSERA_ASSIGN_OR_RETURN(const Detected detected,
                             DetectFormat(view_, options_.file, io_, stop_));
    shares_.Note(view_.state_id);
    if (detected.format == Format::kSafetensors) {
      return CheckSet(store(), detected.files, io_, options_, stop_);
    }
    TESSERA_RETURN_IF_ERROR(view_.index_text.has_value() ? FindIndexed()
                                                         : FindListed(detected.listing));
    report_.unsealed_arrays = static_cast<int64_t>(unsealed_.size());
    report_.arrays += report_.unsealed_arrays;
    if (!shares_.first()) {
      // Every rank has found this much, and the first one tells of it.
      problems_.Take();
      report_ = {};
    }
    TESSERA_RETURN_IF_ERROR(options_.quick ? CheckSizes() : CheckHashes());
    TESSERA_RETURN_IF_ERROR(options_.quick ? LookForUnsealed() : DecodeUnsealed());
    report_.bytes += progress_.done();
    return RankFindings{std::move(report_), problems_.Take(), {}, shares_.work()};
  }

 private:
  store::KvStore& store() { return *view_.store; }

  absl::Status FindIndexed() {
    const auto index = ledger::DecodeIndexFile(view_.index_text->text());
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
      if (manifest.id == kSealId) ++report_.seal_arrays;
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
    std::vector<size_t> mine;
    for (size_t i = 0; i < vouched_.size(); ++i) {
      const auto bytes = static_cast<int64_t>(vouched_[i].value.size);
      if (!shares_.Deal(vouched_[i].file, bytes)) continue;
      mine.push_back(i);
      progress_.AddTotal(bytes);
    }
    return zarr::ForEachCell(io_, "verify", static_cast<int64_t>(mine.size()), kPieceBytes, stop_,
                             [&](int64_t i, zarr::Worker& worker, const std::stop_token& stop) {
                               const Vouched& vouched = vouched_[mine[static_cast<size_t>(i)]];
                               return CheckHash(vouched, worker, stop);
                             });
  }

  absl::Status CheckHash(const Vouched& vouched, zarr::Worker& worker,
                         const std::stop_token& stop) {
    const auto found = HashStored(store(), vouched.file, vouched.value.size,
                                  worker.stored.Resize(kPieceBytes), stop);
    progress_.Done(static_cast<int64_t>(vouched.value.size));
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

  // One listing tells all, so one rank is enough.
  absl::Status CheckSizes() {
    if (!shares_.first()) return absl::OkStatus();
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

  absl::Status LookForUnsealed() {
    std::vector<UnsealedArray> arrays;
    for (const ArrayEntry& entry : unsealed_) {
      if (shares_.Deal(entry.path, 0)) arrays.emplace_back(store(), entry);
    }
    TESSERA_RETURN_IF_ERROR(ForEachArray(arrays, [](UnsealedArray& array, std::stop_token stop) {
      const absl::Status opened = array.Open(stop);
      return opened.ok() ? array.LookFor(std::move(stop)) : opened;
    }));
    for (size_t i = 0; i < arrays.size(); ++i) AddFindings(i, arrays[i]);
    return absl::OkStatus();
  }

  using ArrayCall = absl::FunctionRef<absl::Status(UnsealedArray&, std::stop_token)>;
  absl::Status ForEachArray(std::vector<UnsealedArray>& arrays, ArrayCall call) {
    return zarr::ForEachCell(io_, "verify", static_cast<int64_t>(arrays.size()), 0, stop_,
                             [&](int64_t i, zarr::Worker&, const std::stop_token& stop) {
                               return call(arrays[static_cast<size_t>(i)], stop);
                             });
  }

  // Chunks of all arrays at once: there may be many arrays of one chunk each.
  absl::Status DecodeUnsealed() {
    std::vector<UnsealedArray> arrays;
    for (const ArrayEntry& entry : unsealed_) arrays.emplace_back(store(), entry);
    TESSERA_RETURN_IF_ERROR(ForEachArray(arrays, [](UnsealedArray& array, std::stop_token stop) {
      return array.Open(std::move(stop));
    }));
    std::vector<std::pair<size_t, int64_t>> mine;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (!shares_.first()) arrays[i].ForgetProblems();
      for (int64_t cell = 0; cell < arrays[i].cells(); ++cell) {
        if (shares_.Deal(unsealed_[i].path, arrays[i].cell_bytes())) mine.emplace_back(i, cell);
      }
    }
    TESSERA_RETURN_IF_ERROR(AddUnsealedTotal());
    TESSERA_RETURN_IF_ERROR(
        zarr::ForEachCell(io_, "verify", static_cast<int64_t>(mine.size()), 0, stop_,
                          [&](int64_t i, zarr::Worker&, const std::stop_token& stop) {
                            const auto [array, cell] = mine[static_cast<size_t>(i)];
                            return DecodeCell(arrays[array], cell, stop);
                          }));
    for (size_t i = 0; i < arrays.size(); ++i) AddFindings(i, arrays[i]);
    return absl::OkStatus();
  }
  absl::Status DecodeCell(UnsealedArray& array, int64_t cell, const std::stop_token& stop) {
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, array.Decode(cell, io_, stop));
    progress_.Done(bytes);
    return absl::OkStatus();
  }

  void AddFindings(size_t number, const UnsealedArray& array) {
    UnsealedFindings findings = array.Findings();
    report_.chunks += findings.chunks;
    report_.absent_chunks += findings.absent_chunks;
    for (VerifyProblem& problem : findings.problems) {
      problems_.Add(std::move(problem.key), std::move(problem.file), std::move(problem.problem),
                    static_cast<int64_t>(number));
    }
  }

  // Nobody wrote down how large the chunks are, so that a listing must tell; it is worth it only
  // to somebody who watches.
  absl::Status AddUnsealedTotal() {
    if (!progress_.watched() || unsealed_.empty()) return absl::OkStatus();
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, BytesBelow(store(), unsealed_, stop_));
    progress_.AddTotal(bytes / shares_.ranks());
    return absl::OkStatus();
  }

  store::KvStore& base_;
  IoContext& io_;
  const VerifyOptions& options_;
  const std::stop_token stop_;
  VerifyShares shares_;
  commit::View view_;
  std::vector<Vouched> vouched_;
  absl::flat_hash_map<std::string, std::string> keys_;  // of the arrays, by path
  absl::flat_hash_set<std::string> vouching_;           // prefixes
  absl::flat_hash_set<std::string> sealed_;             // paths of arrays
  std::vector<ArrayEntry> unsealed_;
  Problems problems_;
  ByteProgress progress_;
  VerifyReport report_;
};

}  // namespace

OrderedJson ToJson(const VerifyReport& report) {
  OrderedJson problems = OrderedJson::array();
  for (const VerifyProblem& problem : report.problems) {
    problems.push_back(
        {{"key", problem.key}, {"file", problem.file}, {"problem", problem.problem}});
  }
  return {
      {"ok", report.ok()},
      {"checked", {{"arrays", report.arrays}, {"chunks", report.chunks}, {"bytes", report.bytes}}},
      {"problems", std::move(problems)},
      {"vouched",
       {{"manifest", report.manifest_arrays()},
        {"seal", report.seal_arrays},
        {"nobody", report.unsealed_arrays}}},
      {"absent_chunks", report.absent_chunks}};
}

absl::StatusOr<VerifyReport> VerifyCheckpoint(store::KvStore& store, IoContext& io,
                                              const VerifyOptions& options, std::stop_token stop) {
  return JoinFindings(options, Verifier(store, io, options, std::move(stop)).Run());
}

}  // namespace tessera::checkpoint
