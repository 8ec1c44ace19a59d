#include "tessera/safetensors/read.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/core/buffer.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/hash128.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"
#include "tessera/core/worker_loop.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/safetensors/fetch.h"
#include "tessera/safetensors/pack_bits.h"
#include "tessera/safetensors/runs.h"

namespace tessera::safetensors {
namespace {

// What is hashed while it is still in a core's cache.
constexpr size_t kHashRange = size_t{1} << 20;

// From this size on a run is worth a request of its own, if few of the bytes around it are wanted.
constexpr uint64_t kLongRun = uint64_t{64} << 10;
constexpr uint64_t kMostWasted = 4;  // bytes read for each one that is wanted

struct Worker {
  Buffer stored;
  Buffer elements;  // of packed ones, a byte each
};

enum class Method {
  kDirect,    // into the memory of the destination
  kRuns,      // run by run
  kBuffered,  // one request for the bytes from the first element to the last
};

// A part and how it is read.
struct Part {
  Box box;
  ByteSpan bytes = {};  // what is read, counted from the tensor's first
  std::optional<StridedView> memory = {};
  std::optional<StoredValue> expected = {};
  Method method = Method::kBuffered;
  int64_t need = 0;  // bytes of the worker's buffers
};

class PartReader {
 public:
  PartReader(store::KvStore& store, const SetFile& file, const Tensor& tensor,
             Destination& destination, IoContext& io)
      : store_(store),
        file_(file),
        tensor_(tensor),
        destination_(destination),
        io_(io),
        bits_(InfoOf(tensor.dtype).bits),
        element_bytes_(DTypeBytes(tensor.dtype)),
        block_shape_(BlockShape(tensor.shape, tensor.dtype)),
        grid_(GridShape(tensor.shape, block_shape_)) {}

  absl::StatusOr<Part> Plan(const Box& box, const ReadOptions& options) const;
  absl::Status Read(const Part& part, Worker& worker, const std::stop_token& stop);
  ReadReport report() const { return {.blocks = blocks_, .bytes_read = bytes_read_}; }

 private:
  bool packed() const { return bits_ < 8; }
  std::string Named(const ByteSpan& bytes) const;
  ByteSpan Hull(const Box& box) const;
  Method MethodOf(const Part& part) const;
  int64_t NeedOf(const Part& part) const;

  absl::Status Fetch(uint64_t begin, std::span<std::byte> target, const std::stop_token& stop);
  absl::Status ReadDirect(const Part& part, const std::stop_token& stop);
  absl::Status ReadRun(const Part& part, const Box& run, Worker& worker,
                       const std::stop_token& stop);
  absl::Status ReadBuffered(const Part& part, Worker& worker, const std::stop_token& stop);
  absl::Status Hand(const Part& part, const Box& box, const ConstStridedView& elements);
  absl::Status Check(const Part& part, const Hash128& hash) const;

  store::KvStore& store_;
  const SetFile& file_;
  const Tensor& tensor_;
  Destination& destination_;
  IoContext& io_;
  const int bits_;
  const int64_t element_bytes_;
  const Dims block_shape_;
  const Dims grid_;
  std::atomic<int64_t> blocks_{0};
  std::atomic<int64_t> bytes_read_{0};
};

std::string PartReader::Named(const ByteSpan& bytes) const {
  return BytesText(store_, file_, tensor_, bytes);
}

// From the first element to the last, with whatever lies in between; packed ones from one on that
// begins with a whole byte, as every block does.
ByteSpan PartReader::Hull(const Box& box) const {
  Dims last = box.origin();
  for (int d = 0; d < box.rank(); ++d) last[d] += box.shape()[d] - 1;
  const auto bits = static_cast<uint64_t>(bits_);
  const uint64_t first = ElementNumber(box.origin(), tensor_.shape);
  const uint64_t begin = first - first % (8 / std::gcd(uint64_t{8}, bits));
  return {begin * bits / 8, ((ElementNumber(last, tensor_.shape) + 1) * bits + 7) / 8};
}

Method PartReader::MethodOf(const Part& part) const {
  if (packed()) return Method::kBuffered;
  const auto wanted = static_cast<uint64_t>(*part.box.num_elements() * element_bytes_);
  if (wanted == part.bytes.size()) {
    const bool direct = part.memory.has_value() && IsDense(AsConst(*part.memory));
    return direct ? Method::kDirect : Method::kBuffered;
  }
  const auto run = static_cast<uint64_t>(RunElements(part.box, tensor_.shape) * element_bytes_);
  const bool sparse = run >= kLongRun && part.bytes.size() / kMostWasted > wanted;
  return sparse && !part.expected.has_value() ? Method::kRuns : Method::kBuffered;
}

int64_t PartReader::NeedOf(const Part& part) const {
  switch (part.method) {
    case Method::kDirect:
      return 0;
    case Method::kRuns:
      return RunElements(part.box, tensor_.shape) * element_bytes_;
    case Method::kBuffered:
      break;
  }
  const auto stored = static_cast<int64_t>(part.bytes.size());
  return packed() ? stored + stored * 8 / bits_ : stored;
}

absl::StatusOr<Part> PartReader::Plan(const Box& box, const ReadOptions& options) const {
  Part part{.box = box};
  Dims cell = box.origin();
  for (int d = 0; d < box.rank(); ++d) cell[d] /= block_shape_[d];
  const Box block = CellBox(cell, block_shape_, tensor_.shape);
  TESSERA_CHECK(Contains(block, box));
  part.bytes = Hull(box);
  if (options.expected != nullptr) {
    part.bytes = SpanOf(block, tensor_.shape, tensor_.dtype);
    part.expected = options.expected(CellNumber(cell, grid_));
    if (!part.expected.has_value()) {
      return DataLoss(Named(part.bytes), ": nothing is known of this block");
    }
    if (part.expected->size != part.bytes.size()) {
      return DataLoss(Named(part.bytes), ": found ", part.bytes.size(), " bytes, expected ",
                      part.expected->size);
    }
  }
  part.memory = destination_.MemoryFor(box);
  part.method = MethodOf(part);
  part.need = NeedOf(part);
  return part;
}

absl::Status PartReader::Read(const Part& part, Worker& worker, const std::stop_token& stop) {
  ++blocks_;
  switch (part.method) {
    case Method::kDirect:
      return ReadDirect(part, stop);
    case Method::kRuns:
      return ForEachRun(part.box, tensor_.shape,
                        [&](const Box& run) { return ReadRun(part, run, worker, stop); });
    case Method::kBuffered:
      break;
  }
  return ReadBuffered(part, worker, stop);
}

// Bytes of the tensor from `begin` on.
absl::Status PartReader::Fetch(uint64_t begin, std::span<std::byte> target,
                               const std::stop_token& stop) {
  TESSERA_RETURN_IF_ERROR(FetchData(store_, file_, tensor_.begin + begin, target, stop));
  bytes_read_ += static_cast<int64_t>(target.size());
  return absl::OkStatus();
}

absl::Status PartReader::ReadDirect(const Part& part, const std::stop_token& stop) {
  const std::span<std::byte> target(part.memory->data, part.bytes.size());
  // Where each request waits for an answer, one is enough.
  const bool by_ranges = part.expected.has_value() && store_.streams();
  const size_t range_bytes = by_ranges ? kHashRange : target.size();
  Hasher128 hash;
  for (size_t done = 0; done < target.size();) {
    const auto range = target.subspan(done, std::min(range_bytes, target.size() - done));
    const uint64_t begin = part.bytes.begin + done;
    TESSERA_RETURN_IF_ERROR(Fetch(begin, range, stop));
    if (part.expected.has_value()) {
      const IoContext::ComputeSlot slot(io_);
      hash.Update(range);
    }
    TESSERA_RETURN_IF_ERROR(CheckBools(store_, file_, tensor_, begin, range));
    done += range.size();
  }
  return part.expected.has_value() ? Check(part, hash.Finish()) : absl::OkStatus();
}

absl::Status PartReader::ReadRun(const Part& part, const Box& run, Worker& worker,
                                 const std::stop_token& stop) {
  const ByteSpan bytes = Hull(run);
  std::optional<StridedView> memory;
  if (part.memory.has_value()) {
    memory = SubView(*part.memory, RelativeTo(run, part.box.origin()));
  }
  const bool direct = memory.has_value() && IsDense(AsConst(*memory));
  const std::span<std::byte> target =
      direct ? std::span(memory->data, bytes.size()) : worker.stored.Resize(bytes.size());
  TESSERA_RETURN_IF_ERROR(Fetch(bytes.begin, target, stop));
  TESSERA_RETURN_IF_ERROR(CheckBools(store_, file_, tensor_, bytes.begin, target));
  if (direct) return absl::OkStatus();
  const IoContext::ComputeSlot slot(io_);
  return Hand(part, run, AsConst(RowMajorView(target.data(), run.shape(), element_bytes_)));
}

absl::Status PartReader::ReadBuffered(const Part& part, Worker& worker,
                                      const std::stop_token& stop) {
  const std::span<std::byte> stored = worker.stored.Resize(part.bytes.size());
  TESSERA_RETURN_IF_ERROR(Fetch(part.bytes.begin, stored, stop));
  const IoContext::ComputeSlot slot(io_);
  if (part.expected.has_value()) TESSERA_RETURN_IF_ERROR(Check(part, HashOf(stored)));
  TESSERA_RETURN_IF_ERROR(CheckBools(store_, file_, tensor_, part.bytes.begin, stored));
  std::span<const std::byte> elements = stored;
  const auto bits = static_cast<uint64_t>(bits_);
  if (packed()) {
    const auto unpacked = worker.elements.Resize(stored.size() * 8 / bits);
    UnpackBits(stored, bits_, 0, unpacked);
    elements = unpacked;
  }
  const uint64_t at = ElementNumber(part.box.origin(), tensor_.shape) - part.bytes.begin * 8 / bits;
  return Hand(part, part.box,
              {elements.data() + at * static_cast<uint64_t>(element_bytes_), part.box.shape(),
               RowMajorStrides(tensor_.shape, element_bytes_), element_bytes_});
}

// Errors of a destination are its own: nothing is added.
absl::Status PartReader::Hand(const Part& part, const Box& box, const ConstStridedView& elements) {
  if (!part.memory.has_value()) return destination_.Put(box, elements);
  return CopyStrided(elements, SubView(*part.memory, RelativeTo(box, part.box.origin())));
}

absl::Status PartReader::Check(const Part& part, const Hash128& hash) const {
  if (hash == part.expected->hash) return absl::OkStatus();
  return DataLoss(Named(part.bytes), ": found hash ", hash.Hex(), ", expected ",
                  part.expected->hash.Hex());
}

}  // namespace

absl::StatusOr<ReadReport> ReadParts(store::KvStore& store, const SetFile& file,
                                     const Tensor& tensor, std::span<const Box> parts,
                                     Destination& destination, IoContext& io,
                                     const ReadOptions& options, std::stop_token stop) {
  PartReader reader(store, file, tensor, destination, io);
  std::vector<Part> plan;
  plan.reserve(parts.size());
  int64_t need = 0;
  for (const Box& box : parts) {
    if (box.empty()) continue;
    TESSERA_ASSIGN_OR_RETURN(Part part, reader.Plan(box, options));
    need = std::max(need, part.need);
    plan.push_back(std::move(part));
  }
  const auto read = [&](int64_t i, Worker& worker, const std::stop_token& stopped) {
    return reader.Read(plan[static_cast<size_t>(i)], worker, stopped);
  };
  const auto count = static_cast<int64_t>(plan.size());
  Worker first;
  // Who needs no memory does not stand in line for it.
  TESSERA_RETURN_IF_ERROR(
      need == 0 ? ForEachWithWorker<Worker>(io, count, 0, first, std::move(stop), read)
                : ForEachWithWorkers<Worker>(io, store.Describe(file.name), count, need,
                                             std::move(stop), read));
  return reader.report();
}

}  // namespace tessera::safetensors
