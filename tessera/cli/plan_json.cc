// The explanation of a load as JSON.  Array by array, as a tree of 100,000 values takes longer to
// build than to plan.
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/cli/output.h"
#include "tessera/cli/plan_report.h"
#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"

namespace tessera::cli {
namespace {

using checkpoint::ArrayPlan;
using explain::LoadExplanation;

std::vector<int64_t> ListOf(const Dims& dims) { return {dims.begin(), dims.end()}; }

// As mesh::ToJson has it.
OrderedJson SpecOf(const mesh::PartitionSpec& spec) {
  OrderedJson list = OrderedJson::array();
  for (const mesh::SpecEntry& entry : spec.entries()) {
    if (entry.unconstrained()) {
      list.push_back({{"unconstrained", true}});
    } else if (entry.axes().size() == 1) {
      list.push_back(entry.axes()[0]);
    } else if (entry.replicated()) {
      list.push_back(nullptr);
    } else {
      list.push_back(entry.axes());
    }
  }
  return list;
}

OrderedJson JsonOf(const ArrayPlan& array, const LoadExplanation& explanation) {
  OrderedJson corrections = OrderedJson::array();
  for (const mesh::Correction& each : array.placement.corrections) {
    corrections.push_back(each.Text());
  }
  OrderedJson rule;
  OrderedJson rule_index;
  if (array.placement.rule.has_value()) {
    rule = explanation.rules[*array.placement.rule].pattern;
    rule_index = *array.placement.rule;
  }
  const auto& sharding = std::get<mesh::NamedSharding>(array.placement.sharding);
  return {{"key", array.name},
          {"rule", std::move(rule)},
          {"spec", SpecOf(sharding.spec())},
          {"corrected", !array.placement.corrections.empty()},
          {"shard_shape", ListOf(array.shard_shape)},
          {"bytes_per_device", array.device_bytes},
          {"rule_index", std::move(rule_index)},
          {"corrections", std::move(corrections)},
          {"dtype", std::string(DTypeName(array.dtype))},
          {"shape", ListOf(array.stored.shape)},
          {"chunks", array.chunks},
          {"read_bytes", array.read_bytes},
          {"requests", array.requests},
          {"amplification", array.amplification()}};
}

OrderedJson RulesJson(const LoadExplanation& explanation) {
  OrderedJson rules = OrderedJson::array();
  for (size_t i = 0; i < explanation.rules.size(); ++i) {
    const explain::RuleUse& use = explanation.rule_uses[i];
    OrderedJson shadowed_by;
    if (use.shadowed_by.has_value()) shadowed_by = *use.shadowed_by;
    rules.push_back({{"pattern", explanation.rules[i].pattern},
                     {"spec", SpecOf(explanation.rules[i].spec)},
                     {"arrays", use.arrays},
                     {"bytes", use.bytes},
                     {"shadowed_by", std::move(shadowed_by)}});
  }
  return rules;
}

OrderedJson ProcessesJson(const LoadExplanation& explanation) {
  OrderedJson processes = OrderedJson::array();
  for (const checkpoint::ProcessPlan& process : explanation.plan.processes) {
    processes.push_back({{"process", process.process},
                         {"result_bytes", process.result_bytes},
                         {"requests", process.requests},
                         {"read_bytes", process.read_bytes},
                         {"decoded_bytes", process.decoded_bytes},
                         {"peak_bytes", process.peak_bytes}});
  }
  return processes;
}

// All that follows the arrays.
OrderedJson RestOf(const LoadExplanation& explanation) {
  OrderedJson devices = OrderedJson::array();
  for (const checkpoint::DevicePlan& device : explanation.plan.devices) {
    devices.push_back(
        {{"id", device.device.id}, {"bytes", device.bytes}, {"process", device.device.process}});
  }
  OrderedJson warnings = OrderedJson::array();
  for (const explain::Warning& warning : explanation.warnings) {
    warnings.push_back({{"kind", warning.kind},
                        {"key", warning.arrays > 0 ? OrderedJson(warning.key) : OrderedJson()},
                        {"detail", warning.detail},
                        {"arrays", warning.arrays}});
  }
  OrderedJson budget;
  if (explanation.device_budget.has_value()) budget = *explanation.device_budget;
  return {{"devices", std::move(devices)},
          {"balance", explanation.plan.balance()},
          {"read",
           {{"bytes", explanation.read_bytes},
            {"requests", explanation.requests},
            {"amplification", explanation.amplification()},
            {"decoded_bytes", explanation.decoded_bytes},
            {"wanted_bytes", explanation.wanted_bytes}}},
          {"warnings", std::move(warnings)},
          {"nbytes", explanation.nbytes},
          {"hosts", explanation.hosts},
          {"processes", ProcessesJson(explanation)},
          {"rules", RulesJson(explanation)},
          {"budget", std::move(budget)},
          {"over_budget", explanation.over_budget}};
}

}  // namespace

void WritePlanJson(const LoadExplanation& explanation, Output& out) {
  OrderedJson mesh = OrderedJson::object();
  for (const mesh::Axis& axis : explanation.mesh.axes()) mesh[axis.name] = axis.size;
  out.Write(Concat("{\"mesh\":", JsonLine(mesh), ",\n\"arrays\":["));
  for (size_t i = 0; i < explanation.plan.arrays.size() && !out.closed(); ++i) {
    out.Write(
        Concat(i == 0 ? "\n" : ",\n", JsonLine(JsonOf(explanation.plan.arrays[i], explanation))));
  }
  out.Write("\n]");
  const OrderedJson rest = RestOf(explanation);
  for (const auto& [name, value] : rest.items()) {
    out.Write(Concat(",\n\"", name, "\":", JsonLine(value)));
  }
  out.WriteLine("}");
}

}  // namespace tessera::cli
