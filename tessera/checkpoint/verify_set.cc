#include "tessera/checkpoint/verify_set.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/checkpoint/byte_progress.h"
#include "tessera/checkpoint/open_set.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/verify_problems.h"
#include "tessera/checkpoint/verify_shares.h"
#include "tessera/core/buffer.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/worker_loop.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/unfolded_store.h"

namespace tessera::checkpoint {
namespace {

using safetensors::FileSet;

// The file at the root that a key of the unfolded store lies in.
std::string FileOver(std::string_view key) { return std::string(key.substr(0, key.find('/'))); }

class SetVerifier {
 public:
  SetVerifier(store::KvStore& store, std::span<const std::string> files, IoContext& io,
              const VerifyOptions& options, std::stop_token stop)
      : store_(store),
        names_(files),
        name_(files.front()),
        io_(io),
        options_(options),
        stop_(std::move(stop)),
        shares_(options.comm),
        progress_(options.progress) {}

  absl::StatusOr<RankFindings> Run() {
    TESSERA_RETURN_IF_ERROR(FindManifest());
    TESSERA_RETURN_IF_ERROR(OpenFiles());
    if (manifest_.has_value()) {
      CountSealed();
      TESSERA_RETURN_IF_ERROR(CheckFiles());
    } else {
      CountUnsealed();
    }
    if (!shares_.first()) LeaveToTheFirst();
    if (manifest_.has_value() && !options_.quick) TESSERA_RETURN_IF_ERROR(CheckBlocks());
    std::optional<VerifyProblem> unexplained;
    if (!opened_.ok()) unexplained = {"", name_, std::string(opened_.message())};
    report_.bytes += progress_.done();
    return RankFindings{std::move(report_), problems_.Take(), std::move(unexplained),
                        shares_.work()};
  }

 private:
  // A file, and the store in which what it holds are values.
  struct OpenedFile {
    std::shared_ptr<store::KvStore> unfolded;
    const safetensors::SetFile* file;
  };

  // Every rank has looked at the files and found the same.
  void LeaveToTheFirst() {
    problems_.Take();
    report_ = {};
    report_.bytes = -progress_.done();
  }

  static bool Stops(const absl::Status& status) {
    return absl::IsCancelled(status) || absl::IsUnavailable(status);
  }

  void AddStatus(const std::string& file, const absl::Status& status) {
    problems_.Add("", file, std::string(status.message()));
  }

  absl::Status FindManifest() {
    const std::string key = SealKey(name_);
    auto manifest = ReadManifest(store_, key, stop_);
    if (Stops(manifest.status())) return manifest.status();
    if (!manifest.ok()) {
      AddStatus(key, manifest.status());
    } else if (manifest->has_value() && (*manifest)->prefix != name_) {
      problems_.Add("", key,
                    Concat("it is the manifest of ", Quoted((*manifest)->prefix),
                           ", expected that of ", Quoted(name_)));
    } else {
      manifest_ = *std::move(manifest);
    }
    return absl::OkStatus();
  }

  // As one set; else file by file, so that each that is damaged is named.
  absl::Status OpenFiles() {
    auto set = OpenFileSet(store_, names_, io_, stop_);
    opened_ = set.status();
    if (Stops(opened_)) return opened_;
    if (set.ok()) {
      AddFiles(*std::move(set));
      return absl::OkStatus();
    }
    TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesToOpen());
    for (const std::string& name : files) {
      auto file = FileSet::Open(store_, name, io_, stop_);
      if (Stops(file.status())) return file.status();
      if (file.ok()) {
        AddFiles(*std::move(file));
      } else {
        AddStatus(name, file.status());
      }
    }
    return absl::OkStatus();
  }

  void AddFiles(FileSet set) {
    sets_.push_back(std::make_unique<const FileSet>(std::move(set)));
    const std::shared_ptr<store::KvStore> unfolded =
        safetensors::MakeUnfoldedStore(store_, *sets_.back());
    for (const safetensors::SetFile& file : sets_.back()->files()) {
      files_.emplace(file.name, OpenedFile{unfolded, &file});
      for (const safetensors::Tensor& tensor : file.header->tensors) {
        keys_.emplace(safetensors::UnfoldedPath(file.name, tensor.name), tensor.name);
      }
    }
  }

  // Of a set that does not open: those that the manifest has, else those that the index names.
  absl::StatusOr<std::vector<std::string>> FilesToOpen() {
    if (manifest_.has_value()) return FilesOfSet(*manifest_);
    std::vector<std::string> files(names_.begin(), names_.end());
    const auto text =
        store_.Read(name_, store::ByteRange::AtMost(safetensors::kMaxIndexBytes), stop_);
    if (Stops(text.status())) return text.status();
    if (text.ok() && text->value.has_value() &&
        safetensors::LooksLikeIndexFile(text->value->text())) {
      std::erase(files, name_);
      const auto index = safetensors::DecodeIndexFile(text->value->text());
      if (index.ok()) {
        for (const auto& [tensor, file] : index->weight_map) files.push_back(file);
      }
    }
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    return files;
  }

  void CountSealed() {
    report_.arrays = static_cast<int64_t>(manifest_->arrays.size());
    if (manifest_->id == kSealId) report_.seal_arrays = report_.arrays;
    int64_t blocks = 0;
    for (const ledger::StoredRecord& file : manifest_->files) {
      progress_.AddTotal(static_cast<int64_t>(file.size));
    }
    for (const ledger::ArrayManifest& array : manifest_->arrays) {
      report_.chunks += static_cast<int64_t>(array.chunks.size());
      uint64_t& bytes = data_bytes_[FileOver(array.path)];
      for (const ledger::StoredRecord& block : array.chunks) {
        bytes += block.size;
        blocks += static_cast<int64_t>(block.size);
      }
    }
    progress_.AddTotal(blocks / shares_.ranks());
  }

  void CountUnsealed() {
    for (const auto& set : sets_) {
      report_.arrays += static_cast<int64_t>(set->tensors().size());
      for (const safetensors::SetFile& file : set->files()) {
        progress_.Done(static_cast<int64_t>(file.data_begin));
      }
    }
    report_.unsealed_arrays = report_.arrays;
  }

  // Headers, index and what was saved beside them; and that no file is there that the manifest does
  // not have.
  absl::Status CheckFiles() {
    const std::vector<std::string> known = FilesOfSet(*manifest_);
    for (const auto& [name, file] : files_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      problems_.Add("", name, Concat("the manifest does not have it; ", kDamagedOrReplaced));
    }
    for (const ledger::StoredRecord& record : manifest_->files) {
      const auto name = HeaderFile(record.name);
      if (!name.has_value()) {
        TESSERA_RETURN_IF_ERROR(CheckWhole(record));
      } else if (files_.contains(*name)) {
        TESSERA_RETURN_IF_ERROR(CheckHeader(*name, record));
      } else if (opened_.ok()) {
        // One that does not open is a problem already.
        problems_.Add("", *name, "the manifest has it, the index does not name it");
      }
    }
    return absl::OkStatus();
  }

  // What the header does not vouch for cannot be found by it.
  absl::Status CheckHeader(const std::string& name, const ledger::StoredRecord& record) {
    const safetensors::SetFile& file = *files_.at(name).file;
    const uint64_t size = record.size + data_bytes_[name];
    std::string wrong;
    if (file.size != size) {
      wrong = Concat("found ", file.size, " bytes, expected ", size);
    } else if (file.data_begin != record.size) {
      wrong = Concat("its header: found ", file.data_begin, " bytes, expected ", record.size);
    } else if (!options_.quick) {
      const auto found = HashStored(*files_.at(name).unfolded, record.name, record.size,
                                    room_.Resize(kPieceBytes), stop_);
      if (Stops(found.status())) return found.status();
      wrong = found.ok() ? Difference(*found, {record.size, record.hash})
                         : std::string(found.status().message());
      if (!wrong.empty()) wrong = Concat("bytes [0, ", record.size, "), its header: ", wrong);
    }
    progress_.Done(static_cast<int64_t>(record.size));
    if (wrong.empty()) return absl::OkStatus();
    problems_.Add("", name, std::move(wrong));
    files_.erase(name);
    return absl::OkStatus();
  }

  struct Block {
    const ledger::ArrayManifest* array;
    const ledger::StoredRecord* record;
    const OpenedFile* file;
    int64_t number;  // among those of all ranks
  };

  absl::Status CheckBlocks() {
    std::vector<Block> blocks;
    int64_t count = 0;
    for (const ledger::ArrayManifest& array : manifest_->arrays) {
      const auto file = files_.find(FileOver(array.path));
      if (file == files_.end()) continue;
      for (const ledger::StoredRecord& record : array.chunks) {
        ++count;
        if (!shares_.Deal(array.path, static_cast<int64_t>(record.size))) continue;
        blocks.push_back({&array, &record, &file->second, count});
      }
    }
    return ForEachWithWorkers<Buffer>(
        io_, "verify", static_cast<int64_t>(blocks.size()), kPieceBytes, stop_,
        [&](int64_t i, Buffer& room, const std::stop_token& stop) {
          return CheckBlock(blocks[static_cast<size_t>(i)], room, stop);
        });
  }

  absl::Status CheckBlock(const Block& block, Buffer& room, const std::stop_token& stop) {
    store::KvStore& unfolded = *block.file->unfolded;
    const std::string key = KeyBelow(block.array->path, block.record->name);
    const auto found =
        HashStored(unfolded, key, block.record->size, room.Resize(kPieceBytes), stop);
    if (Stops(found.status())) return found.status();
    progress_.Done(static_cast<int64_t>(block.record->size));
    std::string wrong = found.ok() ? Difference(*found, {block.record->size, block.record->hash})
                                   : std::string(found.status().message());
    if (wrong.empty()) return absl::OkStatus();
    const auto named = keys_.find(block.array->path);
    problems_.Add(named == keys_.end() ? block.array->path : named->second, block.file->file->name,
                  Concat(Where(unfolded, *block.file->file, key), ": ", wrong), block.number);
    return absl::OkStatus();
  }

  // The bytes of the file that a key stands for.
  std::string Where(const store::KvStore& unfolded, const safetensors::SetFile& file,
                    const std::string& key) const {
    const std::string place = unfolded.Describe(key);
    const std::string begin = Concat(store_.Describe(file.name), ": ");
    return place.starts_with(begin) ? place.substr(begin.size()) : key;
  }

  // A file that is one value.
  absl::Status CheckWhole(const ledger::StoredRecord& record) {
    const StoredValue expected{record.size, record.hash};
    absl::StatusOr<std::optional<StoredValue>> found;
    if (options_.quick) {
      TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                               store_.ReadInto(record.name, 0, {}, stop_));
      found = info.missing() ? std::nullopt : std::optional(StoredValue{info.size, record.hash});
    } else {
      found = HashStored(store_, record.name, std::numeric_limits<int64_t>::max(),
                         room_.Resize(kPieceBytes), stop_);
    }
    if (Stops(found.status())) return found.status();
    progress_.Done(static_cast<int64_t>(record.size));
    std::string wrong =
        found.ok() ? Difference(*found, expected) : std::string(found.status().message());
    if (!wrong.empty()) problems_.Add("", record.name, std::move(wrong));
    return absl::OkStatus();
  }

  store::KvStore& store_;
  const std::span<const std::string> names_;
  const std::string name_;  // of the set
  IoContext& io_;
  const VerifyOptions& options_;
  const std::stop_token stop_;
  VerifyShares shares_;
  std::optional<ledger::Manifest> manifest_;
  absl::Status opened_;  // the set as a whole
  std::vector<std::unique_ptr<const FileSet>> sets_;
  absl::flat_hash_map<std::string, OpenedFile> files_;     // that can be looked into
  absl::flat_hash_map<std::string, std::string> keys_;     // of the tensors, by path
  absl::flat_hash_map<std::string, uint64_t> data_bytes_;  // of each file, by the manifest
  Buffer room_;
  Problems problems_;
  ByteProgress progress_;
  VerifyReport report_;
};

}  // namespace

absl::StatusOr<RankFindings> CheckSet(store::KvStore& store, std::span<const std::string> files,
                                      IoContext& io, const VerifyOptions& options,
                                      std::stop_token stop) {
  return SetVerifier(store, files, io, options, std::move(stop)).Run();
}

}  // namespace tessera::checkpoint
