// A plan as people and programs read it, and as ranks compare it.
#include <nlohmann/json.hpp>

#include "tessera/checkpoint/plan_save.h"
#include "tessera/checkpoint/plan_save_tensors.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

std::vector<int64_t> ListOf(const Dims& dims) { return {dims.begin(), dims.end()}; }

std::string DeviceText(const PlannedPart& part) {
  if (!part.device_id.has_value()) return "host memory";
  return Concat("device ", *part.device_id);
}

Json PartJson(const PlannedPart& part) {
  Json json = {{"origin", ListOf(part.box.origin())},
               {"shape", ListOf(part.box.shape())},
               {"rank", part.rank}};
  if (part.device_id.has_value()) json["device"] = *part.device_id;
  return json;
}

Json ArrayJson(const SavePlan& plan, size_t a) {
  const PlannedArray& array = plan.arrays[a];
  Json parts = Json::array();
  for (const PlannedPart& part : array.parts) parts.push_back(PartJson(part));
  Json json = {{"key", array.key},
               {"path", array.record.path},
               {"source_dtype", DTypeName(array.source_dtype)},
               {"chunk_reason", ChunkReasonName(array.chunk.reason)},
               {"chunk_bytes", array.chunk.bytes},
               {"parts", std::move(parts)}};
  // What MetadataText and TensorText make is JSON.
  if (plan.set.has_value()) {
    const TensorOfPlan place = TensorOf(plan, a);
    json["file"] = place.file.name;
    json["tensor"] = Json::parse(safetensors::TensorText(place.tensor));
    json["chunk_shape"] = ListOf(array.metadata.chunk_shape);
  } else {
    json["metadata"] = Json::parse(zarr::MetadataText(array.metadata));
    json["metadata_rank"] = array.metadata_rank;
  }
  return json;
}

Json SetJson(const safetensors::SetPlan& set) {
  Json files = Json::array();
  for (const safetensors::PlannedFile& file : set.files) {
    files.push_back(
        {{"name", file.name}, {"size", file.size}, {"tensors", file.header.tensors.size()}});
  }
  return {{"name", set.name}, {"files", std::move(files)}};
}

// Values one after the other, each with an end of its own.
class Canonical {
 public:
  void Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    text_ += text;
  }
  void Add(int64_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void Add(const Dims& dims) {
    Add(static_cast<int64_t>(dims.size()));
    for (const int64_t size : dims) Add(size);
  }
  void Add(const PlannedArray& array) {
    Add(array.record.path);
    Add(array.metadata.shape);
    Add(array.metadata.chunk_shape);
    Add(static_cast<int64_t>(array.metadata.dtype));
    Add(static_cast<int64_t>(array.source_dtype));
    Add(static_cast<int64_t>(array.metadata_rank));
    Add(static_cast<int64_t>(array.parts.size()));
    for (const PlannedPart& part : array.parts) {
      Add(part.box.origin());
      Add(part.box.shape());
      Add(static_cast<int64_t>(part.rank));
    }
  }
  void Add(const safetensors::SetPlan& set) {
    Add(set.name);
    Add(set.index_text.value_or(""));
    for (const safetensors::PlannedFile& file : set.files) {
      Add(file.name);
      Add(file.header_bytes);
    }
  }
  Hash128 Hash() const { return HashOf(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string SavePlan::Text() const {
  std::string text = Concat(arrays.size(), " arrays, ", nbytes, " bytes",
                            prefix.empty() ? "" : Concat(", prefix ", prefix), "\n");
  if (set.has_value()) {
    for (const safetensors::PlannedFile& file : set->files) {
      text +=
          Concat(file.name, ": ", file.header.tensors.size(), " tensors, ", file.size, " bytes\n");
    }
  }
  for (const PlannedArray& array : arrays) {
    text += Concat(array.record.path, ": ", DTypeName(array.metadata.dtype),
                   ShapeText(array.metadata.shape), ", chunks ", array.chunk.Text(), "\n");
    for (const PlannedPart& part : array.parts) {
      text += Concat("  ", part.box.Text(), ": rank ", part.rank, ", ", DeviceText(part), "\n");
    }
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += Concat("rank ", i, ": ", ranks[i].chunks, " chunks, ", ranks[i].bytes, " bytes\n");
  }
  for (const LostLeaf& leaf : lost) {
    text += Concat("not kept: ", leaf.key, " (", leaf.type_name, ")\n");
  }
  return text;
}

Json ToJson(const SavePlan& plan) {
  Json arrays = Json::array(), ranks = Json::array(), lost = Json::array();
  for (size_t a = 0; a < plan.arrays.size(); ++a) arrays.push_back(ArrayJson(plan, a));
  for (const RankLoad& load : plan.ranks) {
    ranks.push_back({{"bytes", load.bytes}, {"chunks", load.chunks}});
  }
  for (const LostLeaf& leaf : plan.lost) {
    lost.push_back({{"key", leaf.key}, {"type", leaf.type_name}});
  }
  Json json = {{"prefix", plan.prefix}, {"nbytes", plan.nbytes},
               {"arrays", arrays},      {"ranks", ranks},
               {"not_kept", lost},      {"codec", plan.codecs_open ? "auto" : "chosen"}};
  json["format"] = plan.set.has_value() ? "safetensors" : "tensorstore";
  if (plan.set.has_value()) json["set"] = SetJson(*plan.set);
  return json;
}

Hash128 DigestOf(const SavePlan& plan) {
  Canonical canonical;
  canonical.Add(plan.prefix);
  canonical.Add(static_cast<int64_t>(plan.codecs_open));
  canonical.Add(static_cast<int64_t>(plan.keeps_values));
  canonical.Add(static_cast<int64_t>(plan.arrays.size()));
  for (const PlannedArray& array : plan.arrays) canonical.Add(array);
  if (plan.set.has_value()) canonical.Add(*plan.set);
  return canonical.Hash();
}

}  // namespace tessera::checkpoint
