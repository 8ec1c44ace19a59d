#include "tessera/steps/content_hash.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/array/to_host.h"
#include "tessera/checkpoint/content_hash.h"
#include "tessera/core/environment.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"
#include "tessera/core/strided.h"
#include "tessera/device/host_platform.h"
#include "tessera/tree/walk.h"

namespace tessera::steps {
namespace {

// Rows at once of memory that does not lie in C order.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

struct NamedArray {
  std::string name;
  const array::Value* value;
};

absl::StatusOr<std::vector<NamedArray>> ArraysOf(const array::ValueTree& tree) {
  std::vector<NamedArray> arrays;
  std::map<std::string, int> seen;
  std::string twice;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(tree, [&](const tree::KeyPathView& path, const array::Value& value) {
        if (std::holds_alternative<array::Opaque>(value)) return;
        arrays.push_back({path.Dotted(), &value});
        if (seen[arrays.back().name]++ > 0) twice = arrays.back().name;
      }));
  if (twice.empty()) return arrays;
  return InvalidArgument("two arrays have the dotted key ", twice,
                         ", under which one checksum can be kept");
}

class TreeHasher {
 public:
  TreeHasher(const device::Platform& platform, comm::Comm& comm, const HashTreeOptions& options)
      : platform_(platform), comm_(comm), options_(options) {}

  // Array i of all; the hash is set on the rank that takes it.
  absl::Status Add(size_t i, const NamedArray& array) {
    const bool is_host = std::holds_alternative<array::HostArray>(*array.value);
    // An array in host memory is saved from rank 0.
    const int hasher = is_host ? 0 : static_cast<int>(i % static_cast<size_t>(comm_.size()));
    const auto host = ToHost(*array.value);
    if (!host.ok()) return Prefixed(host.status(), array.name);
    if (comm_.rank() == hasher) {
      TESSERA_ASSIGN_OR_RETURN(const std::string hash, ContentHash(*host));
      lines_ += Concat(i, " ", hash, "\n");
    }
    return absl::OkStatus();
  }

  const std::string& lines() const { return lines_; }

 private:
  absl::StatusOr<array::HostArray> ToHost(const array::Value& value) {
    const array::ToHostOptions options{.float_dtype = options_.float_dtype, .share = true};
    if (const auto* host = std::get_if<array::HostArray>(&value)) {
      return array::ToHost(*host, options);
    }
    const auto& sharded = std::get<array::ShardedArray>(value);
    if (comm_.size() == 1) return array::ToHost(sharded, platform_, options);
    return array::ToHost(sharded, platform_, comm_, {.host = options, .limit = options_.limit});
  }

  const device::Platform& platform_;
  comm::Comm& comm_;
  const HashTreeOptions& options_;
  std::string lines_;
};

absl::Status TakeLines(std::string_view lines, const std::vector<NamedArray>& arrays,
                       TreeHashes& hashes) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() + 1);
    const size_t space = line.find(' ');
    TESSERA_ASSIGN_OR_RETURN(const int64_t i, ParseInteger(line.substr(0, space)));
    hashes.checksums[arrays[static_cast<size_t>(i)].name] = line.substr(space + 1);
  }
  return absl::OkStatus();
}

ledger::SavedArrayType TypeOf(const array::Value& value, std::optional<DType> float_dtype) {
  const ShapeDtype array = *array::DescribeLeaf(value).array;
  const DType stored = IsFloat(array.dtype) ? float_dtype.value_or(array.dtype) : array.dtype;
  return {std::string(DTypeName(stored)), array.shape};
}

absl::Status CheckOne(const checkpoint::Checkpoint& checkpoint,
                      const checkpoint::CheckpointArray& array, const std::string& expected,
                      IoContext& io, const std::stop_token& stop, std::string& damaged) {
  const auto found = checkpoint::HashContent(checkpoint, array, io, {}, stop);
  if (!found.ok()) return Prefixed(found.status(), array.name);
  if (*found == expected) return absl::OkStatus();
  damaged += Concat(damaged.empty() ? "" : "; ", array.name, ": expected the SHA-256 ", expected,
                    ", found ", *found);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ContentHash(const array::HostArray& array) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype(), array.shape()));
  if (array::IsDense(array.view()) || bytes == 0) {
    return Sha256Text({array.view().data, static_cast<size_t>(bytes)});
  }
  const int64_t row_bytes = bytes / array.shape()[0];
  const int64_t most = std::max<int64_t>(1, kPieceBytes / row_bytes);
  Sha256 hash;
  std::vector<std::byte> piece;
  for (int64_t row = 0; row < array.shape()[0]; row += most) {
    const array::HostArray part = array.Rows(row, std::min(most, array.shape()[0] - row));
    piece.resize(static_cast<size_t>(part.shape()[0] * row_bytes));
    TESSERA_RETURN_IF_ERROR(CopyStrided(
        part.view(), RowMajorView(piece.data(), part.shape(), part.view().element_bytes)));
    hash.Update(piece);
  }
  return HexText(hash.Finish());
}

absl::StatusOr<std::unique_ptr<device::Platform>> HostPlatformOf(const array::ValueTree& tree) {
  device::HostPlatformOptions options;
  TESSERA_RETURN_IF_ERROR(
      tree::ForEachLeaf(tree, [&](const tree::KeyPathView&, const array::Value& value) {
        const auto* sharded = std::get_if<array::ShardedArray>(&value);
        if (sharded == nullptr) return;
        for (const array::Shard& shard : sharded->shards()) {
          options.process = shard.device.process;
          options.ids.push_back(shard.device.id);
        }
      }));
  std::sort(options.ids.begin(), options.ids.end());
  options.ids.erase(std::unique(options.ids.begin(), options.ids.end()), options.ids.end());
  return device::MakeHostPlatform(options);
}

absl::StatusOr<TreeHashes> HashTree(const array::ValueTree& tree, const device::Platform* platform,
                                    comm::Comm& comm, const HashTreeOptions& options) {
  TESSERA_ASSIGN_OR_RETURN(const std::vector<NamedArray> arrays, ArraysOf(tree));
  std::unique_ptr<device::Platform> own;
  if (platform == nullptr) {
    TESSERA_ASSIGN_OR_RETURN(own, HostPlatformOf(tree));
  }
  TreeHasher hasher(own != nullptr ? *own : *platform, comm, options);
  absl::Status status;
  for (size_t i = 0; i < arrays.size() && status.ok(); ++i) status = hasher.Add(i, arrays[i]);
  TESSERA_RETURN_IF_ERROR(comm.Agree(status, options.limit));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> all,
                           comm.AllGather(Bytes::CopyOf(hasher.lines()), options.limit));
  TreeHashes hashes;
  for (const Bytes& lines : all) {
    TESSERA_RETURN_IF_ERROR(TakeLines(lines.text(), arrays, hashes));
  }
  for (const NamedArray& array : arrays) {
    hashes.types[array.name] = TypeOf(*array.value, options.float_dtype);
  }
  return hashes;
}

absl::Status CheckContent(const checkpoint::Checkpoint& checkpoint, std::span<const size_t> arrays,
                          const std::map<std::string, std::string>& checksums, IoContext& io,
                          comm::Comm* comm, const comm::Limit& limit) {
  const size_t ranks = comm == nullptr ? 1 : static_cast<size_t>(comm->size());
  const size_t rank = comm == nullptr ? 0 : static_cast<size_t>(comm->rank());
  std::string damaged, unknown;
  absl::Status status;
  for (size_t i = 0; i < arrays.size() && status.ok(); ++i) {
    const checkpoint::CheckpointArray& array = checkpoint.arrays()[arrays[i]];
    const auto expected = checksums.find(array.name);
    if (expected == checksums.end()) {
      unknown += Concat(unknown.empty() ? "" : ", ", array.name);
    } else if (i % ranks == rank) {
      status = CheckOne(checkpoint, array, expected->second, io, limit.stop, damaged);
    }
  }
  if (status.ok() && !unknown.empty()) {
    status = FailedPrecondition("there is no checksum of ", unknown,
                                ": the last save into this folder was of other arrays, or was made "
                                "without validation");
  }
  if (status.ok() && !damaged.empty()) status = DataLoss(damaged);
  return comm == nullptr ? status : comm->Agree(status, limit);
}

}  // namespace tessera::steps
