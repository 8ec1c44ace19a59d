// LoadPlan as lines and as JSON.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/plan_load.h"
#include "tessera/core/status.h"

namespace tessera::checkpoint {
namespace {

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

std::string ByText(const Placement& placement) {
  std::string text(PlacedByText(placement.by));
  if (placement.rule.has_value()) text += Concat(" ", *placement.rule);
  return text;
}

std::string SpecText(const mesh::Sharding& sharding) {
  const auto* named = std::get_if<mesh::NamedSharding>(&sharding);
  return named != nullptr ? named->spec().Text() : mesh::ShardingText(sharding);
}

std::string DTypeText(const ArrayPlan& array) {
  if (array.stored.dtype == array.dtype) return std::string(DTypeName(array.dtype));
  return Concat(DTypeName(array.stored.dtype), "->", DTypeName(array.dtype));
}

std::string Line(const ArrayPlan& array) {
  std::string line =
      Concat(array.name.empty() ? "the root" : array.name, " ", DTypeText(array),
             ShapeText(array.stored.shape), " by ", ByText(array.placement), ": ",
             SpecText(array.placement.sharding), ", shards ", ShapeText(array.shard_shape), " of ",
             array.device_bytes, " bytes; ", array.least_parts, " to ", array.most_parts, " of ",
             array.chunks, " chunks per process; ", array.requests, " requests, ", array.read_bytes,
             " bytes to read, amplification ", Rounded(array.amplification()));
  for (const mesh::Correction& correction : array.placement.corrections) {
    line += Concat("; ", correction.Text());
  }
  return line + "\n";
}

Json JsonOf(const ArrayPlan& array) {
  Json corrections = Json::array();
  for (const mesh::Correction& correction : array.placement.corrections) {
    corrections.push_back(correction.Text());
  }
  Json json{
      {"name", array.name},
      {"shape", std::vector<int64_t>(array.stored.shape.begin(), array.stored.shape.end())},
      {"stored_dtype", std::string(DTypeName(array.stored.dtype))},
      {"dtype", std::string(DTypeName(array.dtype))},
      {"by", std::string(PlacedByText(array.placement.by))},
      {"sharding", mesh::ShardingText(array.placement.sharding)},
      {"corrections", std::move(corrections)},
      {"shard_shape", std::vector<int64_t>(array.shard_shape.begin(), array.shard_shape.end())},
      {"device_bytes", array.device_bytes},
      {"chunks", array.chunks},
      {"least_parts", array.least_parts},
      {"most_parts", array.most_parts},
      {"requests", array.requests},
      {"read_bytes", array.read_bytes},
      {"decoded_bytes", array.decoded_bytes},
      {"wanted_bytes", array.wanted_bytes},
      {"amplification", array.amplification()}};
  if (array.placement.rule.has_value()) json["rule"] = *array.placement.rule;
  return json;
}

}  // namespace

std::string LoadPlan::Text() const {
  std::string text;
  for (const ArrayPlan& array : arrays) text += Line(array);
  for (const ProcessPlan& process : processes) {
    text +=
        Concat("process ", process.process, ": ", process.requests, " requests, ",
               process.read_bytes, " bytes to read, ", process.decoded_bytes, " to decode, result ",
               process.result_bytes, ", peak ", process.peak_bytes, "\n");
  }
  for (const DevicePlan& device : devices) {
    text += Concat("device ", device.device.id, ": ", device.bytes, " bytes\n");
  }
  return Concat(text, "balance ", Rounded(balance()), "\n");
}

Json ToJson(const LoadPlan& plan) {
  Json arrays = Json::array();
  for (const ArrayPlan& array : plan.arrays) arrays.push_back(JsonOf(array));
  Json processes = Json::array();
  for (const ProcessPlan& process : plan.processes) {
    processes.push_back({{"process", process.process},
                         {"result_bytes", process.result_bytes},
                         {"requests", process.requests},
                         {"read_bytes", process.read_bytes},
                         {"decoded_bytes", process.decoded_bytes},
                         {"peak_bytes", process.peak_bytes}});
  }
  Json devices = Json::array();
  for (const DevicePlan& device : plan.devices) {
    devices.push_back({{"device", device.device.id}, {"bytes", device.bytes}});
  }
  return {{"arrays", std::move(arrays)},
          {"processes", std::move(processes)},
          {"devices", std::move(devices)},
          {"balance", plan.balance()}};
}

}  // namespace tessera::checkpoint
