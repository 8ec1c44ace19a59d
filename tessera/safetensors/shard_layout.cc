#include "tessera/safetensors/shard_layout.h"

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "tessera/core/natural_order.h"
#include "tessera/core/status.h"

namespace tessera::safetensors {
namespace {

absl::Status Validate(const char* caller, std::span<const SizedKey> keys, int64_t max_bytes) {
  if (max_bytes <= 0) {
    return InvalidArgument(caller, ": the largest shard size is ", max_bytes,
                           "; expected more than 0");
  }
  for (const SizedKey& key : keys) {
    if (key.bytes < 0)
      return InvalidArgument(caller, ": '", key.key, "' has ", key.bytes, " bytes");
  }
  return absl::OkStatus();
}

// The shard being filled, and those that are full.
class Packer {
 public:
  explicit Packer(int64_t max_bytes) : max_bytes_(max_bytes) {}

  bool Fits(int64_t bytes) const { return open_.empty() || bytes <= max_bytes_ - open_bytes_; }

  void Add(const SizedKey& key) {
    if (!Fits(key.bytes)) Close();
    if (key.bytes > max_bytes_) layout_.oversize.push_back(key.key);
    open_.push_back(key.key);
    open_bytes_ += key.bytes;
  }

  void Close() {
    if (!open_.empty()) layout_.shards.push_back(std::exchange(open_, {}));
    open_bytes_ = 0;
  }

  ShardLayout Finish() && {
    Close();
    return std::move(layout_);
  }

 private:
  const int64_t max_bytes_;
  ShardLayout layout_;
  std::vector<std::string> open_;
  int64_t open_bytes_ = 0;
};

struct NaturalOrder {
  // Keys without a parent come first.
  bool operator()(const std::optional<std::string>& a, const std::optional<std::string>& b) const {
    if (!a.has_value() || !b.has_value()) return !a.has_value() && b.has_value();
    return NaturalLess(*a, *b);
  }
};

std::optional<std::string> ParentOf(const std::string& key, ParentOrder order) {
  const size_t dot = key.rfind('.');
  if (dot != std::string::npos) return key.substr(0, dot);
  if (order == ParentOrder::kCodePoint) return "root";
  return std::nullopt;
}

using Group = std::vector<const SizedKey*>;

template <typename Order>
std::vector<Group> GroupByParent(std::span<const SizedKey> keys, ParentOrder order) {
  std::map<std::optional<std::string>, Group, Order> groups;
  for (const SizedKey& key : keys) groups[ParentOf(key.key, order)].push_back(&key);
  std::vector<Group> result;
  for (auto& [parent, group] : groups) result.push_back(std::move(group));
  return result;
}

// The bytes of a group, or more than any shard may hold when the sum does not fit 63 bits.
int64_t BytesOf(const Group& group) {
  int64_t sum = 0;
  for (const SizedKey* key : group) {
    if (__builtin_add_overflow(sum, key->bytes, &sum)) return std::numeric_limits<int64_t>::max();
  }
  return sum;
}

}  // namespace

absl::StatusOr<ShardLayout> GroupKeysByShardSize(std::span<const SizedKey> keys,
                                                 int64_t max_bytes) {
  TESSERA_RETURN_IF_ERROR(Validate("group_keys_by_shard_size", keys, max_bytes));
  Packer packer(max_bytes);
  for (const SizedKey& key : keys) packer.Add(key);
  return std::move(packer).Finish();
}

absl::StatusOr<ShardLayout> OptimizeShardLayout(std::span<const SizedKey> keys, int64_t max_bytes,
                                                ParentOrder order) {
  TESSERA_RETURN_IF_ERROR(Validate("optimize_shard_layout", keys, max_bytes));
  const std::vector<Group> groups =
      order == ParentOrder::kNatural
          ? GroupByParent<NaturalOrder>(keys, order)
          : GroupByParent<std::less<std::optional<std::string>>>(keys, order);
  Packer packer(max_bytes);
  for (const Group& group : groups) {
    const int64_t bytes = BytesOf(group);
    if (bytes > max_bytes || !packer.Fits(bytes)) packer.Close();
    for (const SizedKey* key : group) packer.Add(*key);
  }
  return std::move(packer).Finish();
}

}  // namespace tessera::safetensors
