#include "tessera/atlas/atlas_data.h"

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/status.h"
#include "tessera/mesh/sharding.h"

namespace tessera::atlas {
namespace {

using checkpoint::ArrayPlan;
using checkpoint::CheckpointArray;

OrderedJson ListOf(DimsView dims) { return OrderedJson(std::vector(dims.begin(), dims.end())); }

// Names in the order in which they come first.
class NameTable {
 public:
  size_t NumberOf(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return at->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  absl::flat_hash_map<std::string, size_t> numbers_;
  std::vector<std::string> names_;
};

// Which block each device holds, for every sharding and rank that occurs.
class PlacementTable {
 public:
  explicit PlacementTable(const checkpoint::LoadPlan& plan) {
    for (const checkpoint::DevicePlan& device : plan.devices) {
      places_.emplace(device.device.id, places_.size());
    }
  }

  size_t NumberOf(const mesh::Sharding& sharding, int rank) {
    for (size_t i = 0; i < known_.size(); ++i) {
      if (known_[i].second == rank && known_[i].first == sharding) return i;
    }
    known_.emplace_back(sharding, rank);
    json_.push_back(Describe(sharding, rank));
    return known_.size() - 1;
  }

  OrderedJson Take() { return std::move(json_); }

 private:
  OrderedJson Describe(const mesh::Sharding& sharding, int rank) const {
    // The planner has placed arrays by this sharding, so neither of them can fail.
    const auto split = mesh::SplitFactors(sharding, rank);
    TESSERA_CHECK(split.ok());
    // An array of one element per block: the origin of a shard tells its block.
    const auto shards = mesh::PlaceShards(sharding, *split);
    TESSERA_CHECK(shards.ok());
    std::vector<int64_t> blocks(places_.size(), -1);
    for (const mesh::DeviceShard& shard : *shards) {
      int64_t number = 0;
      for (int d = 0; d < rank; ++d) number = number * (*split)[d] + shard.box.begin(d);
      blocks[places_.at(shard.device.id)] = number;
    }
    const auto* named = std::get_if<mesh::NamedSharding>(&sharding);
    return {{"spec", named != nullptr ? named->spec().Text() : mesh::ShardingText(sharding)},
            {"split", ListOf(*split)},
            {"block", blocks}};
  }

  absl::flat_hash_map<int64_t, size_t> places_;  // of a device among the plan's, by id
  std::vector<std::pair<mesh::Sharding, int>> known_;
  OrderedJson json_ = OrderedJson::array();
};

// Rows that are equal are kept once.
class FormTable {
 public:
  explicit FormTable(const checkpoint::LoadPlan& plan) : placements_(plan) {}

  size_t NumberOf(const CheckpointArray& array, const ArrayPlan& plan) {
    OrderedJson row = RowOf(array, plan);
    const auto [at, is_new] = numbers_.try_emplace(
        row.dump(-1, ' ', false, OrderedJson::error_handler_t::replace), numbers_.size());
    if (is_new) AddRow(row);
    return at->second;
  }

  void MoveInto(OrderedJson& document) {
    document["dtypes"] = dtypes_.names();
    document["codecs"] = codecs_.names();
    document["placements"] = placements_.Take();
    document["forms"] = std::move(columns_);
  }

 private:
  static constexpr const char* kColumns[] = {
      "shape",       "chunk",      "shard",       "dtype",   "result",       "codec",
      "placement",   "rule",       "corrections", "bytes",   "device_bytes", "chunks",
      "least_parts", "most_parts", "requests",    "decoded", "wanted"};

  OrderedJson RowOf(const CheckpointArray& array, const ArrayPlan& plan) {
    OrderedJson corrections = OrderedJson::array();
    for (const mesh::Correction& correction : plan.placement.corrections) {
      corrections.push_back(correction.Text());
    }
    const auto& rule = plan.placement.rule;
    const auto rank = static_cast<int>(plan.stored.shape.size());
    // The planner has multiplied the stored bytes; those of a wider result may not fit.
    const auto bytes = NumBytes(plan.dtype, plan.stored.shape);
    return OrderedJson::array(
        {ListOf(plan.stored.shape), ListOf(array.chunk_shape()), ListOf(plan.shard_shape),
         dtypes_.NumberOf(std::string(DTypeName(plan.stored.dtype))),
         dtypes_.NumberOf(std::string(DTypeName(plan.dtype))), codecs_.NumberOf(array.CodecText()),
         placements_.NumberOf(plan.placement.sharding, rank),
         rule.has_value() ? static_cast<int64_t>(*rule) : -1, corrections,
         bytes.ok() ? *bytes : INT64_MAX, plan.device_bytes, plan.chunks, plan.least_parts,
         plan.most_parts, plan.requests, plan.decoded_bytes, plan.wanted_bytes});
  }

  void AddRow(OrderedJson& row) {
    for (size_t i = 0; i < std::size(kColumns); ++i) {
      columns_[kColumns[i]].push_back(std::move(row[i]));
    }
  }

  static OrderedJson EmptyColumns() {
    OrderedJson columns = OrderedJson::object();
    for (const char* name : kColumns) columns[name] = OrderedJson::array();
    return columns;
  }

  NameTable dtypes_;
  NameTable codecs_;
  PlacementTable placements_;
  absl::flat_hash_map<std::string, size_t> numbers_;
  OrderedJson columns_ = EmptyColumns();
};

OrderedJson Devices(const checkpoint::LoadPlan& plan) {
  std::vector<int64_t> ids;
  std::vector<int> processes;
  std::vector<int64_t> bytes;
  for (const checkpoint::DevicePlan& device : plan.devices) {
    ids.push_back(device.device.id);
    processes.push_back(device.device.process);
    bytes.push_back(device.bytes);
  }
  return {{"id", ids}, {"process", processes}, {"bytes", bytes}};
}

OrderedJson Processes(const checkpoint::LoadPlan& plan) {
  std::vector<int> numbers;
  std::vector<int64_t> peaks;
  for (const checkpoint::ProcessPlan& process : plan.processes) {
    numbers.push_back(process.process);
    peaks.push_back(process.peak_bytes);
  }
  return {{"process", numbers}, {"peak", peaks}};
}

OrderedJson Totals(const explain::LoadExplanation& explanation) {
  return {{"bytes", explanation.nbytes},        {"read", explanation.read_bytes},
          {"requests", explanation.requests},   {"decoded", explanation.decoded_bytes},
          {"wanted", explanation.wanted_bytes}, {"balance", explanation.plan.balance()}};
}

OrderedJson Rules(const explain::LoadExplanation& explanation) {
  std::vector<std::string> patterns;
  std::vector<std::string> specs;
  std::vector<int64_t> arrays;
  std::vector<int64_t> bytes;
  std::vector<int64_t> shadowed_by;
  for (size_t i = 0; i < explanation.rules.size(); ++i) {
    const explain::RuleUse& use = explanation.rule_uses[i];
    patterns.push_back(explanation.rules[i].pattern);
    specs.push_back(explanation.rules[i].spec.Text());
    arrays.push_back(use.arrays);
    bytes.push_back(use.bytes);
    shadowed_by.push_back(use.shadowed_by.has_value() ? static_cast<int64_t>(*use.shadowed_by)
                                                      : -1);
  }
  return {{"pattern", patterns},
          {"spec", specs},
          {"arrays", arrays},
          {"bytes", bytes},
          {"shadowed_by", shadowed_by}};
}

OrderedJson Warnings(const explain::LoadExplanation& explanation) {
  std::vector<std::string> kinds;
  std::vector<std::string> keys;
  std::vector<std::string> details;
  std::vector<int64_t> arrays;
  for (const explain::Warning& warning : explanation.warnings) {
    kinds.push_back(warning.kind);
    keys.push_back(warning.key);
    details.push_back(warning.detail);
    arrays.push_back(warning.arrays);
  }
  return {{"kind", kinds}, {"key", keys}, {"detail", details}, {"arrays", arrays}};
}

void AddArrays(const checkpoint::Checkpoint& checkpoint, const checkpoint::LoadPlan& plan,
               OrderedJson& document) {
  FormTable forms(plan);
  std::vector<std::string> keys;
  std::vector<size_t> form_numbers;
  std::vector<int64_t> read;
  std::vector<int64_t> stored;
  for (const ArrayPlan& each : plan.arrays) {
    const CheckpointArray& array = checkpoint.arrays()[each.array];
    keys.push_back(each.name);
    form_numbers.push_back(forms.NumberOf(array, each));
    read.push_back(each.read_bytes);
    stored.push_back(array.stored_bytes().value_or(-1));
  }
  forms.MoveInto(document);
  document["keys"] = std::move(keys);
  document["form"] = std::move(form_numbers);
  document["read"] = std::move(read);
  document["stored"] = std::move(stored);
}

}  // namespace

OrderedJson AtlasData(const checkpoint::Checkpoint& checkpoint,
                      const explain::LoadExplanation& explanation, const AtlasOptions& options) {
  OrderedJson document = {
      {"title", options.title},
      {"format", std::string(checkpoint::FormatName(checkpoint.format()))},
      {"mesh", explanation.mesh.Text()},
      {"hosts", explanation.hosts},
      {"devices", Devices(explanation.plan)},
      {"processes", Processes(explanation.plan)},
      {"budget", nullptr},
      {"over", explanation.over_budget},
      {"totals", Totals(explanation)},
      {"rules", Rules(explanation)},
      {"warnings", Warnings(explanation)},
  };
  if (explanation.device_budget.has_value()) document["budget"] = *explanation.device_budget;
  AddArrays(checkpoint, explanation.plan, document);
  return document;
}

std::string ScriptText(const OrderedJson& json) {
  const std::string text = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  // Only strings of JSON hold these characters, and there the escapes mean the same.
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string HtmlText(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace tessera::atlas
