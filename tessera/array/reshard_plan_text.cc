// A plan as people and as programs read it.
#include <nlohmann/json.hpp>

#include "tessera/array/reshard_plan.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

using Shards = std::vector<mesh::DeviceShard>;

int64_t DeviceAt(const Shards& shards, int64_t position) {
  return shards[static_cast<size_t>(position)].device.id;
}

std::string TargetsText(const ReshardPlan& plan, const BoxTransfer& transfer) {
  std::string text = transfer.targets.size() == 1 ? "device " : "devices ";
  for (size_t i = 0; i < transfer.targets.size(); ++i) {
    text += Concat(i == 0 ? "" : ", ", DeviceAt(plan.targets, transfer.targets[i]));
  }
  return text;
}

std::string TotalsText(const ProcessTotals& totals) {
  return Concat("process ", totals.process, ": kept ", totals.kept_bytes, ", copied ",
                totals.copied_bytes, ", sent ", totals.sent_bytes, ", received ",
                totals.received_bytes, ", peak staging ", totals.peak_staging_bytes, " bytes\n");
}

Json BoxJson(const Box& box) {
  return {{"origin", std::vector<int64_t>(box.origin().begin(), box.origin().end())},
          {"shape", std::vector<int64_t>(box.shape().begin(), box.shape().end())}};
}

Json ShardsJson(const Shards& shards) {
  Json list = Json::array();
  for (const mesh::DeviceShard& shard : shards) {
    list.push_back({{"device", shard.device.id},
                    {"process", shard.device.process},
                    {"box", BoxJson(shard.box)},
                    {"replica_id", shard.replica_id}});
  }
  return list;
}

Json TotalsJson(const ReshardPlan& plan) {
  Json list = Json::array();
  for (const ProcessTotals& totals : plan.totals) {
    list.push_back({{"process", totals.process},
                    {"kept_bytes", totals.kept_bytes},
                    {"copied_bytes", totals.copied_bytes},
                    {"sent_bytes", totals.sent_bytes},
                    {"received_bytes", totals.received_bytes},
                    {"peak_staging_bytes", totals.peak_staging_bytes}});
  }
  return list;
}

Json ActsJson(const ReshardPlan& plan) {
  Json kept = Json::array(), copies = Json::array(), transfers = Json::array();
  for (const KeptShard& shard : plan.kept) {
    kept.push_back({{"source", shard.source}, {"target", shard.target}});
  }
  for (const LocalCopy& copy : plan.copies) {
    copies.push_back({{"source", copy.source},
                      {"target", copy.target},
                      {"box", BoxJson(copy.box)},
                      {"bytes", copy.bytes}});
  }
  for (const BoxTransfer& transfer : plan.transfers) {
    transfers.push_back(
        {{"round", transfer.round},
         {"source", transfer.source},
         {"targets", std::vector<int64_t>(transfer.targets.begin(), transfer.targets.end())},
         {"box", BoxJson(transfer.box)},
         {"bytes", transfer.bytes}});
  }
  return {{"kept", kept}, {"copies", copies}, {"transfers", transfers}};
}

}  // namespace

std::string ReshardPlan::Text() const {
  std::string text =
      Concat("reshard ", DTypeName(array.dtype), ShapeText(array.shape), " from ", sources.size(),
             " to ", targets.size(), " devices, rounds: ", rounds, "\n");
  for (const KeptShard& shard : kept) {
    text += Concat("keep device ", DeviceAt(targets, shard.target), " ",
                   targets[static_cast<size_t>(shard.target)].box.Text(), "\n");
  }
  for (const LocalCopy& copy : copies) {
    text +=
        Concat("copy device ", DeviceAt(sources, copy.source), " to device ",
               DeviceAt(targets, copy.target), " ", copy.box.Text(), ", ", copy.bytes, " bytes\n");
  }
  for (const BoxTransfer& transfer : transfers) {
    text += Concat("round ", transfer.round, ": send device ", DeviceAt(sources, transfer.source),
                   " to ", TargetsText(*this, transfer), " ", transfer.box.Text(), ", ",
                   transfer.bytes, " bytes\n");
  }
  for (const ProcessTotals& process : totals) text += TotalsText(process);
  return text;
}

Json ToJson(const ReshardPlan& plan) {
  Json json = ActsJson(plan);
  json["dtype"] = DTypeName(plan.array.dtype);
  json["shape"] = std::vector<int64_t>(plan.array.shape.begin(), plan.array.shape.end());
  json["sources"] = ShardsJson(plan.sources);
  json["targets"] = ShardsJson(plan.targets);
  json["rounds"] = plan.rounds;
  json["totals"] = TotalsJson(plan);
  return json;
}

}  // namespace tessera::array
