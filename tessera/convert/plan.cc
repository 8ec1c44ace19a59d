#include "tessera/convert/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/checkpoint/chunk_shape.h"
#include "tessera/checkpoint/stored_layout.h"
#include "tessera/convert/call_needs.h"
#include "tessera/convert/key_rules.h"
#include "tessera/convert/plan_chunks.h"
#include "tessera/convert/plan_keys.h"
#include "tessera/convert/plan_shares.h"
#include "tessera/core/chunk_grid.h"
#include "tessera/core/convert.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/safetensors/blocks.h"
#include "tessera/zarr/memory_need.h"

namespace tessera::convert {
namespace {

// Larger units save no calls worth speaking of.
constexpr int64_t kGoodUnitBytes = int64_t{16} << 20;
// For an edge chunk its padding, its bytes and the encoder's are in memory at once; some of them
// must fit in what the calls have.
constexpr int64_t kChunksInBudget = 16;

Dims Permuted(DimsView sizes, const Dims& permutation) {
  if (permutation.empty()) return Dims(sizes.begin(), sizes.end());
  Dims permuted;
  for (const int64_t d : permutation) permuted.push_back(sizes[static_cast<size_t>(d)]);
  return permuted;
}

// Problems of many arrays become one error.
class Problems {
 public:
  void Add(std::string_view key, std::string_view what) {
    text_ += Concat(text_.empty() ? "" : "; ", key, ": ", what);
  }
  bool none() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Planner {
 public:
  Planner(const ConvertSource& source, const ConvertRequest& request, const PlanFacts& facts)
      : request_(request), facts_(facts), arrays_(source.Arrays()), source_(source) {
    plan_.format = request.target.format;
  }

  absl::StatusOr<ConvertPlan> Plan() {
    TESSERA_RETURN_IF_ERROR(CheckOptions());
    TESSERA_ASSIGN_OR_RETURN(const KeyRules rules, KeyRules::Make(request_));
    TESSERA_ASSIGN_OR_RETURN(plan_.arrays, PlanKeys(source_, rules, request_));
    if (plan_.arrays.empty()) return NotFound("no array of the source is selected");
    TESSERA_RETURN_IF_ERROR(ChooseTypes(rules));
    TESSERA_RETURN_IF_ERROR(CheckDTypes());
    TESSERA_RETURN_IF_ERROR(request_.target.format == TargetFormat::kSafetensors ? PlaceTensors()
                                                                                 : PlaceArrays());
    TESSERA_RETURN_IF_ERROR(PlanMemory());
    TESSERA_RETURN_IF_ERROR(PlanUnits());
    plan_.rank_bytes = ShareUnits(facts_.ranks, plan_.arrays);
    plan_.source_state = source_.state;
    return std::move(plan_);
  }

 private:
  absl::Status CheckOptions() const {
    if (request_.target.chunk_bytes < 1) {
      return InvalidArgument("chunk_bytes is ", request_.target.chunk_bytes,
                             ", which is less than 1");
    }
    if (request_.target.shards.has_value() &&
        request_.target.format == TargetFormat::kSafetensors) {
      return InvalidArgument("safetensors files have no chunks that could follow shards; ",
                             "tensorstore, zarr2 and zarr3 have");
    }
    if (facts_.budget_bytes < 1) {
      return InvalidArgument("the budget is ", facts_.budget_bytes, " bytes");
    }
    return absl::OkStatus();
  }

  const checkpoint::CheckpointArray& SourceOf(const ConvertArray& array) const {
    return *arrays_[array.number].array;
  }

  absl::Status ChooseTypes(const KeyRules& rules) {
    Problems problems;
    for (ConvertArray& array : plan_.arrays) {
      array.source = SourceOf(array).shape_dtype();
      auto order = rules.PermutationOf(array.source_key, array.source.shape.size());
      if (!order.ok()) {
        if (!absl::IsInvalidArgument(order.status())) return order.status();
        problems.Add(array.source_key, std::string(order.status().message()));
        continue;
      }
      // An order that changes nothing is none.
      if (!std::is_sorted(order->begin(), order->end())) array.permutation = *std::move(order);
      array.target = {Permuted(array.source.shape, array.permutation), array.source.dtype};
      if (IsFloat(array.source.dtype) && request_.float_dtype.has_value()) {
        array.target.dtype = *request_.float_dtype;
      }
      TESSERA_ASSIGN_OR_RETURN(const int64_t bytes,
                               NumBytes(array.target.dtype, array.target.shape));
      plan_.nbytes += bytes;
    }
    if (problems.none()) return absl::OkStatus();
    return InvalidArgument("arrays that cannot be transposed: ", problems.text());
  }

  // What the format calls a dtype; empty: it has none.
  std::string_view FormatName(DType dtype) const {
    switch (plan_.format) {
      case TargetFormat::kSafetensors:
        return InfoOf(dtype).safetensors;
      case TargetFormat::kZarr3:
        return InfoOf(dtype).zarr3;
      case TargetFormat::kTensorstore:
      case TargetFormat::kZarr2:
        return InfoOf(dtype).zarr2;
    }
    return {};
  }

  absl::Status CheckDTypes() const {
    Problems unknown, unconvertible;
    for (const ConvertArray& array : plan_.arrays) {
      if (FormatName(array.target.dtype).empty()) {
        unknown.Add(array.source_key, DTypeName(array.target.dtype));
      } else if (!CanConvert(array.source.dtype, array.target.dtype)) {
        unconvertible.Add(array.source_key, DTypeName(array.source.dtype));
      }
    }
    if (!unknown.none()) {
      return Unimplemented(TargetFormatName(plan_.format), " has no such dtype: ", unknown.text());
    }
    if (unconvertible.none()) return absl::OkStatus();
    return InvalidArgument("there is no conversion to ", DTypeName(*request_.float_dtype), ": ",
                           unconvertible.text());
  }

  // Elements under a byte are packed, and a file has whole bytes only.
  absl::Status CheckPacked() const {
    Problems problems;
    for (const ConvertArray& array : plan_.arrays) {
      const auto bytes = safetensors::StoredBytes(array.target.dtype, array.target.shape);
      if (!bytes.ok()) problems.Add(array.source_key, std::string(bytes.status().message()));
    }
    if (problems.none()) return absl::OkStatus();
    return InvalidArgument("arrays that no safetensors file can hold: ", problems.text());
  }

  absl::Status PlaceTensors() {
    TESSERA_RETURN_IF_ERROR(CheckPacked());
    const Target& target = request_.target;
    std::vector<safetensors::NewTensor> tensors;
    for (const ConvertArray& array : plan_.arrays) tensors.push_back({array.new_key, array.target});
    TESSERA_ASSIGN_OR_RETURN(
        plan_.set, safetensors::PlanSet(tensors, {.stem = target.stem,
                                                  .shard_bytes = target.shard_bytes,
                                                  .packing = target.packing,
                                                  .metadata = HeaderMetadata(source_, target)}));
    for (size_t i = 0; i < plan_.arrays.size(); ++i) {
      ConvertArray& array = plan_.arrays[i];
      array.place.file = plan_.set->places[i].first;
      array.place.tensor = plan_.set->places[i].second;
      array.target_cell = safetensors::BlockShape(array.target.shape, array.target.dtype);
    }
    return absl::OkStatus();
  }

  absl::Status PlaceArrays() {
    if (request_.target.shards.has_value()) {
      TESSERA_RETURN_IF_ERROR(PlanShards(*request_.target.shards, plan_.arrays));
    }
    const int64_t most = std::max<int64_t>(
        1, std::min(request_.target.chunk_bytes, facts_.budget_bytes / kChunksInBudget));
    for (ConvertArray& array : plan_.arrays) {
      const Dims& shape = array.target.shape;
      TargetPlace& place = array.place;
      const Dims& shard = array.shard.has_value() ? array.shard->shape : shape;
      place.chunk = checkpoint::ChooseChunkShape(shape, shard, array.target.dtype, most);
      place.metadata = MetadataOf(array);
      place.record.shape = shape;
      place.record.dtype = DTypeName(array.target.dtype);
      array.target_cell = place.metadata.chunk_shape;
      const absl::Status valid = zarr::Validate(place.metadata);
      if (!valid.ok()) return Prefixed(valid, array.new_key);
    }
    return absl::OkStatus();
  }

  zarr::Metadata MetadataOf(const ConvertArray& array) const {
    zarr::Metadata metadata = zarr::JaxMetadata(array.target, array.place.chunk.shape);
    if (plan_.format == TargetFormat::kZarr3) {
      metadata.format = zarr::Format::kV3;
      metadata.chunk_keys = {zarr::ChunkKeys::Style::kPrefix, '/'};
      metadata.fill_value = std::vector<std::byte>(DTypeBytes(array.target.dtype));
    }
    metadata.codecs.compression = CodecOf(request_.target, SourceOf(array), metadata);
    return metadata;
  }

  absl::Status PlanMemory() {
    CallNeeds needs(facts_.budget_bytes);
    int64_t most = 0;
    const ConvertArray* largest = &plan_.arrays.front();
    for (const ConvertArray& array : plan_.arrays) {
      TESSERA_ASSIGN_OR_RETURN(int64_t need, needs.ToRead(SourceOf(array)));
      TESSERA_ASSIGN_OR_RETURN(const int64_t of_target,
                               plan_.set.has_value()
                                   ? needs.ForTensor(array.target.dtype, array.target_cell)
                                   : needs.ForZarr(array.place.metadata));
      need = std::max(need, of_target);
      if (need > most) largest = &array;
      most = std::max(most, need);
    }
    const int64_t budget = facts_.budget_bytes;
    const int workers = static_cast<int>(
        std::clamp<int64_t>(budget / 16 / kRoomBytes, 1, std::max(1, facts_.workers)));
    const int64_t calls =
        zarr::SaturatingSum({std::max(budget / 4, most), 2 * workers * kRoomBytes});
    plan_.memory = {.units = budget - calls, .calls = calls, .workers = workers};
    if (budget > calls) return absl::OkStatus();
    return ResourceExhausted(largest->source_key, ": to read or write one chunk takes ", most,
                             " of the ", budget, " bytes that there are");
  }

  absl::Status PlanUnits() {
    for (ConvertArray& array : plan_.arrays) {
      if (NumElements(array.target.shape).value() == 0) continue;
      auto unit = ChooseUnits(QuestionOf(array));
      if (!unit.ok()) return Prefixed(unit.status(), array.source_key);
      array.unit = *std::move(unit);
    }
    return absl::OkStatus();
  }

  UnitQuestion QuestionOf(const ConvertArray& array) const {
    const bool tensor = plan_.format == TargetFormat::kSafetensors;
    const int64_t bytes =
        DTypeBytes(array.source.dtype) + (array.casts() ? DTypeBytes(array.target.dtype) : 0);
    const int64_t share = plan_.memory.units / plan_.memory.workers;
    return {.shape = array.target.shape,
            .source_cell = Permuted(SourceOf(array).chunk_shape(), array.permutation),
            .target_cell = array.target_cell,
            // Elements under a byte share bytes with their neighbours.
            .target_divides = tensor && InfoOf(array.target.dtype).bits >= 8,
            .source_streams = SourceOf(array).zarr() != nullptr,
            .element_bytes = bytes,
            .good_bytes = std::min(share, kGoodUnitBytes),
            .share_bytes = share,
            .most_bytes = plan_.memory.units};
  }

  const ConvertRequest& request_;
  const PlanFacts& facts_;
  const std::vector<SourceArray> arrays_;
  const ConvertSource& source_;
  ConvertPlan plan_;
};

}  // namespace

Box ConvertArray::UnitBox(int64_t number) const {
  const Dims grid = GridShape(target.shape, unit.shape);
  Dims cell(grid.size());
  for (size_t i = grid.size(); i > 0; --i) {
    cell[i - 1] = number % grid[i - 1];
    number /= grid[i - 1];
  }
  return CellBox(cell, unit.shape, target.shape);
}

Box ConvertArray::SourceBox(const Box& box) const {
  if (permutation.empty()) return box;
  Dims origin(permutation.size()), shape(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    origin[static_cast<size_t>(permutation[i])] = box.origin()[i];
    shape[static_cast<size_t>(permutation[i])] = box.shape()[i];
  }
  return *Box::Make(origin, shape);
}

std::vector<std::string> ConvertPlan::UnmatchedKeys() const {
  std::vector<std::string> keys;
  for (const ConvertArray& array : arrays) {
    if (array.shard.has_value() && !array.shard->rule.has_value()) keys.push_back(array.source_key);
  }
  return keys;
}

std::vector<std::string> ConvertPlan::Corrections() const {
  std::vector<std::string> texts;
  for (const ConvertArray& array : arrays) {
    if (!array.shard.has_value()) continue;
    for (const mesh::Correction& correction : array.shard->corrections) {
      texts.push_back(Concat(array.source_key, ": ", correction.Text()));
    }
  }
  return texts;
}

absl::StatusOr<ConvertPlan> PlanConvert(const ConvertSource& source, const ConvertRequest& request,
                                        const PlanFacts& facts) {
  TESSERA_CHECK(facts.ranks > 0);
  return Planner(source, request, facts).Plan();
}

}  // namespace tessera::convert
