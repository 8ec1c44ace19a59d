#include "tessera/checkpoint/load_array.h"

#include <utility>
#include <vector>

#include "tessera/checkpoint/plan_load_parts.h"
#include "tessera/core/status.h"
#include "tessera/safetensors/read.h"

namespace tessera::checkpoint {
namespace {

// Parts of one call.  An array of tiny chunks has more than memory should hold.
constexpr size_t kMostParts = 4096;

// Memory of this process that takes a whole box.
class BoxMemory final : public Destination {
 public:
  BoxMemory(const Box& box, const StridedView& memory) : box_(box), memory_(memory) {}
  std::optional<StridedView> MemoryFor(const Box& part) override {
    return SubView(memory_, RelativeTo(part, box_.origin()));
  }
  absl::Status Put(const Box& part, const ConstStridedView& elements) override {
    return CopyStrided(elements, SubView(memory_, RelativeTo(part, box_.origin())));
  }

 private:
  const Box& box_;
  const StridedView& memory_;
};

}  // namespace

ExpectedValues::ExpectedValues(const ledger::ArrayManifest& manifest, std::string_view path)
    : manifest_(manifest), below_(path.empty() ? 0 : path.size() + 1) {
  if (manifest.chunks.size() <= kFew) return;
  by_name_.reserve(manifest.chunks.size());
  for (const ledger::StoredRecord& chunk : manifest.chunks) {
    by_name_.emplace(chunk.name, StoredValue{chunk.size, chunk.hash});
  }
}

std::optional<StoredValue> ExpectedValues::Find(std::string_view key) const {
  if (key.size() < below_) return std::nullopt;
  return FindNamed(key.substr(below_));
}

std::optional<StoredValue> ExpectedValues::FindNamed(std::string_view name) const {
  if (!by_name_.empty()) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  for (const ledger::StoredRecord& chunk : manifest_.chunks) {
    if (chunk.name == name) return StoredValue{chunk.size, chunk.hash};
  }
  return std::nullopt;
}

absl::StatusOr<ArrayReader> ArrayReader::Make(const Checkpoint& checkpoint,
                                              const CheckpointArray& array,
                                              const ReadPolicy& policy) {
  ArrayReader reader(checkpoint.store(), array, policy);
  if (const zarr::Metadata* metadata = array.zarr()) {
    TESSERA_ASSIGN_OR_RETURN(reader.zarr_,
                             zarr::Array::Assume(checkpoint.store(), array.path, *metadata));
  }
  if (policy.verify && array.manifest != nullptr) {
    reader.expected_ = std::make_shared<const ExpectedValues>(*array.manifest, array.path);
  }
  return reader;
}

absl::StatusOr<ReadCounts> ArrayReader::Read(std::span<const Box> parts, Destination& destination,
                                             IoContext& io, std::stop_token stop) const {
  return zarr_.has_value() ? ReadChunks(parts, destination, io, std::move(stop))
                           : ReadBlocks(parts, destination, io, std::move(stop));
}

absl::StatusOr<ReadCounts> ArrayReader::ReadChunks(std::span<const Box> parts,
                                                   Destination& destination, IoContext& io,
                                                   std::stop_token stop) const {
  zarr::ReadOptions options;
  if (expected_ != nullptr) {
    options.expected = [expected = expected_.get()](std::string_view key) {
      return expected->Find(key);
    };
  }
  TESSERA_ASSIGN_OR_RETURN(const zarr::ReadReport report,
                           zarr_->ReadParts(parts, destination, io, options, std::move(stop)));
  const bool may_be_absent = policy_.absent == AbsentChunks::kFill ||
                             array_->zarr()->format != zarr::Format::kV2 ||
                             array_->zarr()->fill_value.has_value();
  if (report.absent_chunks > 0 && !may_be_absent) {
    return DataLoss(store_->Describe(report.absent.front().key), ": chunk missing, at ",
                    report.absent.front().box.Text(), "; ", report.absent_chunks,
                    " missing of those read");
  }
  return ReadCounts{report.chunks, report.absent_chunks, report.bytes_read};
}

// A tensor has all of its blocks, or its file is cut: there are no absent ones.
absl::StatusOr<ReadCounts> ArrayReader::ReadBlocks(std::span<const Box> parts,
                                                   Destination& destination, IoContext& io,
                                                   std::stop_token stop) const {
  safetensors::ReadOptions options;
  if (expected_ != nullptr) {
    options.expected = [expected = expected_.get()](int64_t cell) {
      return expected->FindNamed(std::to_string(cell));
    };
  }
  const TensorSource& source = *array_->tensor();
  TESSERA_ASSIGN_OR_RETURN(const safetensors::ReadReport report,
                           safetensors::ReadParts(*store_, source.file(), source.tensor(), parts,
                                                  destination, io, options, std::move(stop)));
  return ReadCounts{report.blocks, 0, report.bytes_read};
}

absl::StatusOr<ReadCounts> ArrayReader::ReadBoxes(std::span<const Box> boxes,
                                                  Destination& destination, IoContext& io,
                                                  std::stop_token stop) const {
  ReadCounts counts;
  std::vector<Box> parts;
  const auto read = [&]() -> absl::Status {
    TESSERA_ASSIGN_OR_RETURN(const ReadCounts some, Read(parts, destination, io, stop));
    counts.Add(some);
    parts.clear();
    return absl::OkStatus();
  };
  TESSERA_RETURN_IF_ERROR(ForEachPart(array_->shape(), array_->chunk_shape(), boxes,
                                      [&](const Box& part) -> absl::Status {
                                        parts.push_back(part);
                                        if (parts.size() < kMostParts) return absl::OkStatus();
                                        return read();
                                      }));
  if (!parts.empty()) TESSERA_RETURN_IF_ERROR(read());
  return counts;
}

absl::StatusOr<ReadCounts> ArrayReader::ReadBox(const Box& box, const StridedView& target,
                                                IoContext& io, std::stop_token stop) const {
  BoxMemory memory(box, target);
  return ReadBoxes(std::span(&box, 1), memory, io, std::move(stop));
}

}  // namespace tessera::checkpoint
