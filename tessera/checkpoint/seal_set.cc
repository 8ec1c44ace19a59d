// SealSet: a manifest for safetensors files.
#include <limits>
#include <utility>
#include <vector>

#include "tessera/checkpoint/byte_progress.h"
#include "tessera/checkpoint/open_set.h"
#include "tessera/checkpoint/stored_values.h"
#include "tessera/checkpoint/verify_set.h"
#include "tessera/core/buffer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/pieces.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/worker_loop.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/unfolded_store.h"

namespace tessera::checkpoint {
namespace {

using safetensors::FileSet;
using safetensors::SetFile;
using safetensors::Tensor;

class SetSealer {
 public:
  SetSealer(store::KvStore& view, FileSet set, IoContext& io, const SealOptions& options,
            std::stop_token stop)
      : set_(std::move(set)),
        unfolded_(safetensors::MakeUnfoldedStore(view, set_)),
        io_(io),
        progress_(options.progress),
        stop_(std::move(stop)) {}

  absl::StatusOr<ledger::Manifest> Run(SealReport& report) {
    manifest_.id = kSealId;
    manifest_.prefix = set_.name();
    TESSERA_RETURN_IF_ERROR(ListBlocks());
    TESSERA_RETURN_IF_ERROR(HashFiles());
    TESSERA_RETURN_IF_ERROR(ForEachWithWorkers<Buffer>(
        io_, "seal", static_cast<int64_t>(blocks_.size()), kPieceBytes, stop_,
        [&](int64_t i, Buffer& room, const std::stop_token& stop) {
          return HashBlock(blocks_[static_cast<size_t>(i)], room, stop);
        }));
    report.chunks = static_cast<int64_t>(blocks_.size());
    for (const ledger::ArrayManifest& array : manifest_.arrays) {
      for (const ledger::StoredRecord& block : array.chunks) {
        report.bytes += static_cast<int64_t>(block.size);
      }
    }
    return std::move(manifest_);
  }

 private:
  struct Block {
    const Tensor* tensor;
    size_t array;
    size_t number;
  };

  absl::Status ListBlocks() {
    for (const SetFile& file : set_.files()) {
      for (const Tensor& tensor : file.header->tensors) {
        progress_.AddTotal(static_cast<int64_t>(tensor.end - tensor.begin));
        const Dims grid =
            GridShape(tensor.shape, safetensors::BlockShape(tensor.shape, tensor.dtype));
        TESSERA_ASSIGN_OR_RETURN(const int64_t count, NumElements(grid));
        ledger::ArrayManifest array{safetensors::UnfoldedPath(file.name, tensor.name),
                                    std::string(safetensors::kTensorName),
                                    safetensors::TensorText(tensor),
                                    {}};
        array.chunks.resize(static_cast<size_t>(count));
        for (size_t i = 0; i < array.chunks.size(); ++i) {
          array.chunks[i].name = std::to_string(i);
          blocks_.push_back({&tensor, manifest_.arrays.size(), i});
        }
        manifest_.arrays.push_back(std::move(array));
      }
    }
    return absl::OkStatus();
  }

  absl::Status HashFiles() {
    std::vector<std::string> keys;
    if (set_.index().has_value()) keys.push_back(set_.name());
    for (const SetFile& file : set_.files()) {
      keys.push_back(KeyBelow(file.name, safetensors::kHeaderName));
    }
    Buffer room;
    for (std::string& key : keys) {
      TESSERA_ASSIGN_OR_RETURN(const auto found,
                               HashStored(*unfolded_, key, std::numeric_limits<int64_t>::max(),
                                          room.Resize(kPieceBytes), stop_));
      if (!found.has_value()) return Gone(key);
      manifest_.files.push_back({std::move(key), found->size, found->hash});
    }
    return absl::OkStatus();
  }

  // A bool that is neither 0 nor 1 could not be loaded: what is damaged is not sealed.
  absl::Status HashBlock(const Block& block, Buffer& room, const std::stop_token& stop) {
    const bool is_bool = block.tensor->dtype == DType::kBool;
    const ledger::ArrayManifest& array = manifest_.arrays[block.array];
    ledger::StoredRecord& record = manifest_.arrays[block.array].chunks[block.number];
    const std::string key = KeyBelow(array.path, record.name);
    Hasher128 hasher;
    std::byte all{0};
    TESSERA_ASSIGN_OR_RETURN(const store::ValueInfo info,
                             unfolded_->ReadPieces(
                                 key, {}, room.Resize(kPieceBytes),
                                 [&](std::span<const std::byte> piece) {
                                   hasher.Update(piece);
                                   if (is_bool) {
                                     for (const std::byte byte : piece) all |= byte;
                                   }
                                   return absl::OkStatus();
                                 },
                                 stop));
    if (info.missing()) return Gone(key);
    if (all > std::byte{1}) {
      return DataLoss("array ", Quoted(block.tensor->name), ": ", unfolded_->Describe(key),
                      ": a bool there is neither 0 nor 1");
    }
    record.size = info.size;
    record.hash = hasher.Finish();
    progress_.Done(static_cast<int64_t>(info.size));
    return absl::OkStatus();
  }

  absl::Status Gone(const std::string& key) const {
    return Aborted(unfolded_->Describe(key), ": it went away while it was sealed");
  }

  const FileSet set_;
  const std::unique_ptr<store::KvStore> unfolded_;
  IoContext& io_;
  ByteProgress progress_;
  const std::stop_token stop_;
  ledger::Manifest manifest_;
  std::vector<Block> blocks_;
};

}  // namespace

absl::StatusOr<SealReport> SealSet(store::KvStore& store, store::KvStore& view,
                                   std::span<const std::string> files, IoContext& io,
                                   const SealOptions& options, std::stop_token stop) {
  TESSERA_ASSIGN_OR_RETURN(FileSet set, OpenFileSet(view, files, io, stop));
  const std::string name = set.name();
  const std::string key = SealKey(name);
  SealReport report;
  // One that cannot be read says nothing.
  const auto manifest = ReadManifest(view, key, stop);
  const bool saved = manifest.ok() && manifest->has_value() && (*manifest)->id != kSealId;
  if (saved) {
    TESSERA_ASSIGN_OR_RETURN(const VerifyReport holds,
                             JoinFindings({}, CheckSet(view, files, io, {}, stop)));
    if (holds.ok()) {
      report.had_seal.push_back(name);
      return report;
    }
    report.replaced.push_back(name);
  }
  TESSERA_ASSIGN_OR_RETURN(const ledger::Manifest sealed,
                           SetSealer(view, std::move(set), io, options, stop).Run(report));
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ledger::EncodeManifest(sealed));
  TESSERA_RETURN_IF_ERROR(store.Write(key, std::as_bytes(std::span(text)), {}, stop));
  TESSERA_RETURN_IF_ERROR(store.Flush(std::move(stop)));
  report.sealed.push_back(name);
  return report;
}

}  // namespace tessera::checkpoint
