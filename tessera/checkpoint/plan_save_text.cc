// A plan as people and programs read it, and as ranks compare it.
#include <nlohmann/json.hpp>

#include "tessera/checkpoint/plan_save.h"
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

Json ArrayJson(const PlannedArray& array) {
  Json parts = Json::array();
  for (const PlannedPart& part : array.parts) parts.push_back(PartJson(part));
  // What MetadataText makes is JSON.
  return {{"key", array.key},
          {"path", array.record.path},
          {"source_dtype", DTypeName(array.source_dtype)},
          {"metadata", Json::parse(zarr::MetadataText(array.metadata))},
          {"chunk_reason", ChunkReasonName(array.chunk.reason)},
          {"chunk_bytes", array.chunk.bytes},
          {"metadata_rank", array.metadata_rank},
          {"parts", std::move(parts)}};
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
  Hash128 Hash() const { return HashOf(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string SavePlan::Text() const {
  std::string text = Concat(arrays.size(), " arrays, ", nbytes, " bytes",
                            prefix.empty() ? "" : Concat(", prefix ", prefix), "\n");
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
  for (const PlannedArray& array : plan.arrays) arrays.push_back(ArrayJson(array));
  for (const RankLoad& load : plan.ranks) {
    ranks.push_back({{"bytes", load.bytes}, {"chunks", load.chunks}});
  }
  for (const LostLeaf& leaf : plan.lost) {
    lost.push_back({{"key", leaf.key}, {"type", leaf.type_name}});
  }
  return {{"prefix", plan.prefix}, {"nbytes", plan.nbytes},
          {"arrays", arrays},      {"ranks", ranks},
          {"not_kept", lost},      {"codec", plan.codecs_open ? "auto" : "chosen"}};
}

Hash128 DigestOf(const SavePlan& plan) {
  Canonical canonical;
  canonical.Add(plan.prefix);
  canonical.Add(static_cast<int64_t>(plan.codecs_open));
  canonical.Add(static_cast<int64_t>(plan.keeps_values));
  canonical.Add(static_cast<int64_t>(plan.arrays.size()));
  for (const PlannedArray& array : plan.arrays) canonical.Add(array);
  return canonical.Hash();
}

}  // namespace tessera::checkpoint
