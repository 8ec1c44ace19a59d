#include "tessera/safetensors/plan_set.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/utf8.h"
#include "tessera/safetensors/header_parser.h"
#include "tessera/safetensors/index_file.h"
#include "tessera/safetensors/shard_names.h"

namespace tessera::safetensors {
namespace {

constexpr std::string_view kSuffix = ".safetensors";

// How the reference ranks dtypes; the last one lies first in a file.
constexpr std::array kRanked = {
    DType::kBool,          DType::kFloat4E2m1fn,   DType::kFloat6E2m3fn,   DType::kFloat6E3m2fn,
    DType::kUint8,         DType::kInt8,           DType::kFloat8E5m2,     DType::kFloat8E4m3fn,
    DType::kFloat8E8m0fnu, DType::kFloat8E4m3fnuz, DType::kFloat8E5m2fnuz, DType::kInt16,
    DType::kUint16,        DType::kFloat16,        DType::kBfloat16,       DType::kInt32,
    DType::kUint32,        DType::kFloat32,        DType::kComplex64,      DType::kFloat64,
    DType::kInt64,         DType::kUint64,
};

size_t RankOf(DType dtype) { return std::ranges::find(kRanked, dtype) - kRanked.begin(); }

// The keys behind a colon, all of them: whoever has to rename them wants to know at once.
std::string Listed(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += Concat(text.empty() ? "" : ", ", key);
  return text;
}

absl::Status CheckDTypes(const std::vector<NewTensor>& tensors) {
  std::vector<std::string> bad;
  for (const NewTensor& tensor : tensors) {
    const DTypeInfo& info = InfoOf(tensor.about.dtype);
    if (info.safetensors.empty()) bad.push_back(Concat(Quoted(tensor.name), " (", info.name, ")"));
  }
  if (bad.empty()) return absl::OkStatus();
  return Unimplemented("dtypes that safetensors cannot store: ", Listed(bad));
}

absl::Status CheckNames(const std::vector<NewTensor>& tensors) {
  std::vector<std::string> bad;
  std::map<std::string_view, int> seen;
  for (const NewTensor& tensor : tensors) {
    if (!IsValidUtf8(tensor.name)) bad.push_back(Concat(Quoted(tensor.name), " (not UTF-8)"));
    if (tensor.name == kMetadataMember) bad.push_back(Concat(Quoted(tensor.name), " (reserved)"));
    if (++seen[tensor.name] == 2) bad.push_back(Concat(Quoted(tensor.name), " (given twice)"));
  }
  if (bad.empty()) return absl::OkStatus();
  return InvalidArgument("names that no safetensors file can hold: ", Listed(bad));
}

absl::Status CheckStem(std::string_view stem) {
  const bool has_separator = stem.find_first_of(std::string_view("/\\\0", 3)) != stem.npos;
  if (!stem.empty() && !has_separator && IsValidUtf8(stem)) return absl::OkStatus();
  return InvalidArgument("stem ", Quoted(stem), ": expected the beginning of a file's name");
}

// Makes the plan step by step; tensors are told by their number among those given.
class Planner {
 public:
  Planner(const std::vector<NewTensor>& tensors, const SetOptions& options)
      : tensors_(tensors), options_(options), metadata_(options.metadata) {
    std::sort(metadata_.begin(), metadata_.end());
    plan_.places.resize(tensors.size());
  }

  absl::StatusOr<SetPlan> Plan() && {
    TESSERA_RETURN_IF_ERROR(Measure());
    TESSERA_ASSIGN_OR_RETURN(const std::vector<std::vector<size_t>> groups, Groups());
    for (size_t i = 0; i < groups.size(); ++i) {
      TESSERA_ASSIGN_OR_RETURN(std::string name, NameOf(i, groups.size()));
      TESSERA_RETURN_IF_ERROR(AddFile(std::move(name), groups[i]));
    }
    plan_.name = plan_.files[0].name;
    if (options_.shard_bytes.has_value()) TESSERA_RETURN_IF_ERROR(AddIndex());
    return std::move(plan_);
  }

 private:
  absl::Status Measure() {
    for (const NewTensor& tensor : tensors_) {
      const auto bytes = StoredBytes(tensor.about.dtype, tensor.about.shape);
      if (!bytes.ok()) {
        return Prefixed(bytes.status(), Concat("tensor ", Quoted(tensor.name)));
      }
      bytes_.push_back(static_cast<int64_t>(*bytes));
      if (__builtin_add_overflow(plan_.nbytes, bytes_.back(), &plan_.nbytes)) {
        return InvalidArgument("the bytes of all tensors do not fit 63 bits");
      }
    }
    return absl::OkStatus();
  }

  // The tensors of each file.
  absl::StatusOr<std::vector<std::vector<size_t>>> Groups() const {
    std::vector<std::vector<size_t>> groups(1);
    if (!options_.shard_bytes.has_value()) {
      for (size_t i = 0; i < tensors_.size(); ++i) groups[0].push_back(i);
      return groups;
    }
    TESSERA_ASSIGN_OR_RETURN(const ShardLayout layout, Layout(*options_.shard_bytes));
    std::map<std::string_view, size_t> number;
    for (size_t i = 0; i < tensors_.size(); ++i) number[tensors_[i].name] = i;
    // Without any tensor there still is a file.
    groups.resize(std::max<size_t>(1, layout.shards.size()));
    for (size_t i = 0; i < layout.shards.size(); ++i) {
      for (const std::string& key : layout.shards[i]) groups[i].push_back(number.at(key));
    }
    return groups;
  }

  absl::StatusOr<ShardLayout> Layout(int64_t shard_bytes) const {
    std::vector<SizedKey> keys;
    for (size_t i = 0; i < tensors_.size(); ++i) keys.push_back({tensors_[i].name, bytes_[i]});
    return options_.packing == Packing::kInOrder ? GroupKeysByShardSize(keys, shard_bytes)
                                                 : OptimizeShardLayout(keys, shard_bytes);
  }

  absl::StatusOr<std::string> NameOf(size_t file, size_t count) const {
    if (!options_.shard_bytes.has_value()) return Concat(options_.stem, kSuffix);
    return ShardFilename(options_.stem, static_cast<int64_t>(file) + 1,
                         static_cast<int64_t>(count));
  }

  absl::Status AddFile(std::string name, std::vector<size_t> group) {
    std::sort(group.begin(), group.end(), [this](size_t a, size_t b) {
      const size_t rank_a = RankOf(tensors_[a].about.dtype);
      const size_t rank_b = RankOf(tensors_[b].about.dtype);
      return rank_a != rank_b ? rank_a > rank_b : tensors_[a].name < tensors_[b].name;
    });
    PlannedFile file;
    file.name = std::move(name);
    file.header.metadata = metadata_;
    uint64_t begin = 0;
    for (const size_t i : group) {
      const auto& [tensor, about] = tensors_[i];
      const uint64_t end = begin + static_cast<uint64_t>(bytes_[i]);
      plan_.places[i] = {plan_.files.size(), file.header.tensors.size()};
      file.header.tensors.push_back({tensor, about.dtype, about.shape, begin, end});
      begin = end;
    }
    auto header = EncodeHeader(file.header, options_.alignment);
    if (!header.ok()) return Prefixed(header.status(), file.name);
    file.header_bytes = *std::move(header);
    file.size = file.header_bytes.size() + begin;
    plan_.files.push_back(std::move(file));
    return absl::OkStatus();
  }

  absl::Status AddIndex() {
    IndexFile index{.total_size = plan_.nbytes};
    for (size_t i = 0; i < tensors_.size(); ++i) {
      index.weight_map.emplace_back(tensors_[i].name, plan_.files[plan_.places[i].first].name);
    }
    TESSERA_ASSIGN_OR_RETURN(plan_.index_text, EncodeIndexFile(index));
    plan_.name = IndexFilename(options_.stem);
    return absl::OkStatus();
  }

  const std::vector<NewTensor>& tensors_;
  const SetOptions& options_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<int64_t> bytes_;
  SetPlan plan_;
};

}  // namespace

absl::StatusOr<SetPlan> PlanSet(const std::vector<NewTensor>& tensors, const SetOptions& options) {
  TESSERA_RETURN_IF_ERROR(CheckStem(options.stem));
  TESSERA_RETURN_IF_ERROR(CheckDTypes(tensors));
  TESSERA_RETURN_IF_ERROR(CheckNames(tensors));
  return Planner(tensors, options).Plan();
}

}  // namespace tessera::safetensors
