#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/convert/plan.h"
#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

std::string PlaceText(const ConvertPlan& plan, const ConvertArray& array) {
  if (!plan.set.has_value()) return array.place.record.path;
  const safetensors::PlannedFile& file = plan.set->files[array.place.file];
  const safetensors::Tensor& tensor = file.header.tensors[array.place.tensor];
  return Concat(file.name, "@", file.data_begin() + tensor.begin);
}

std::string TypeText(const ShapeDtype& about) {
  return Concat(DTypeName(about.dtype), ShapeText(about.shape));
}

std::string ShardText(const ShardBasis& shard) {
  std::string text = Concat(" in shards ", ShapeText(shard.shape));
  text += shard.rule.has_value() ? Concat(" by rule ", *shard.rule) : " by no rule";
  for (const mesh::Correction& correction : shard.corrections) {
    text += Concat(", corrected in ", correction.Text());
  }
  return text;
}

Json ShardJson(const std::optional<ShardBasis>& shard) {
  if (!shard.has_value()) return nullptr;
  Json corrections = Json::array();
  for (const mesh::Correction& correction : shard->corrections) {
    corrections.push_back(correction.Text());
  }
  Json rule = nullptr;
  if (shard->rule.has_value()) rule = *shard->rule;
  return {{"shape", shard->shape}, {"rule_index", rule}, {"corrections", corrections}};
}

// What is done to an array, and not who does it.
std::string ArrayText(const ConvertPlan& plan, const ConvertArray& array) {
  std::string text = Concat(array.source_key, " -> ");
  if (!array.prefix.empty()) text += Concat(array.prefix, ":");
  text += Concat(array.new_key, " ", TypeText(array.source));
  if (!(array.source == array.target)) text += Concat(" -> ", TypeText(array.target));
  if (!array.permutation.empty()) text += Concat(" transposed ", ShapeText(array.permutation));
  text += Concat(" at ", PlaceText(plan, array), " cells ", ShapeText(array.target_cell));
  if (array.shard.has_value()) text += ShardText(*array.shard);
  text += Concat("; ", array.unit.count, " units ", ShapeText(array.unit.shape), " (",
                 UnitKindName(array.unit.kind), ", ", array.unit.bytes, " bytes");
  if (array.unit.amplification > 1) {
    text += fmt::format(", the source is read {:.2f} times", array.unit.amplification);
  }
  return text + ")";
}

std::string SharesText(const ConvertArray& array) {
  std::string text;
  for (const UnitShare& share : array.shares) {
    text += Concat(text.empty() ? "" : " ", share.rank, "=", share.begin, ":", share.end);
  }
  return text;
}

Json ArrayJson(const ConvertPlan& plan, const ConvertArray& array) {
  Json shares = Json::array();
  for (const UnitShare& share : array.shares) {
    shares.push_back({{"rank", share.rank}, {"begin", share.begin}, {"end", share.end}});
  }
  return {{"key", array.source_key},
          {"new_key", array.new_key},
          {"prefix", array.prefix},
          {"dtype", DTypeName(array.source.dtype)},
          {"new_dtype", DTypeName(array.target.dtype)},
          {"shape", array.source.shape},
          {"new_shape", array.target.shape},
          {"permutation", array.permutation},
          {"place", PlaceText(plan, array)},
          {"chunk_shape", array.target_cell},
          {"shard", ShardJson(array.shard)},
          {"units",
           {{"count", array.unit.count},
            {"shape", array.unit.shape},
            {"kind", UnitKindName(array.unit.kind)},
            {"bytes", array.unit.bytes},
            {"amplification", array.unit.amplification}}},
          {"shares", std::move(shares)}};
}

}  // namespace

std::string ConvertPlan::Text() const {
  std::string text = Concat("to ", TargetFormatName(format), ": ", arrays.size(), " arrays, ",
                            nbytes, " bytes; ", memory.workers, " workers, ", memory.units,
                            " bytes for units and ", memory.calls, " for calls\n");
  for (const ConvertArray& array : arrays) {
    text += ArrayText(*this, array);
    if (rank_bytes.size() > 1) text += Concat(" ranks ", SharesText(array));
    text += '\n';
  }
  return text;
}

Hash128 ConvertPlan::Digest() const {
  std::string text = Concat(TargetFormatName(format), " ", source_state, "\n");
  std::map<std::string, size_t> documents;  // those of arrays that are alike, once
  for (const ConvertArray& array : arrays) {
    text += ArrayText(*this, array);
    if (!set.has_value()) {
      const auto found =
          documents.emplace(zarr::MetadataText(array.place.metadata), documents.size()).first;
      text += Concat(" document ", found->second);
    }
    text += '\n';
  }
  for (const auto& [document, number] : documents) text += Concat(number, " ", document);
  if (set.has_value()) {
    for (const safetensors::PlannedFile& file : set->files) {
      text += Concat(file.name, " ", file.header_bytes);
    }
  }
  return HashOf(text);
}

Json ToJson(const ConvertPlan& plan) {
  Json arrays = Json::array();
  for (const ConvertArray& array : plan.arrays) arrays.push_back(ArrayJson(plan, array));
  return {{"format", TargetFormatName(plan.format)},
          {"nbytes", plan.nbytes},
          {"unmatched", plan.UnmatchedKeys()},
          {"memory",
           {{"units", plan.memory.units},
            {"calls", plan.memory.calls},
            {"workers", plan.memory.workers}}},
          {"rank_bytes", plan.rank_bytes},
          {"arrays", std::move(arrays)}};
}

}  // namespace tessera::convert
