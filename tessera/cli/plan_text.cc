// The explanation of a load as text.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "tessera/cli/fold.h"
#include "tessera/cli/plan_report.h"
#include "tessera/cli/table.h"
#include "tessera/core/natural_order.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/explain/spec_words.h"
#include "tessera/mesh/sharding.h"

namespace tessera::cli {
namespace {

using checkpoint::ArrayPlan;
using checkpoint::Checkpoint;
using explain::LoadExplanation;
using explain::Rounded;

// Of processes and devices: more are told by the least and the most of them.
constexpr size_t kMostListed = 8;

// Sizes are anybody's: the largest number instead of an overflow.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

std::string SpecCell(const ArrayPlan& array) {
  const auto& sharding = std::get<mesh::NamedSharding>(array.placement.sharding);
  return Concat(sharding.spec().Text(), array.placement.corrections.empty() ? "" : " *");
}

std::string RuleCell(const ArrayPlan& array) {
  return array.placement.rule.has_value() ? Concat(*array.placement.rule) : "-";
}

// As people count.
std::vector<const ArrayPlan*> InOrder(const LoadExplanation& explanation) {
  std::vector<const ArrayPlan*> arrays;
  arrays.reserve(explanation.plan.arrays.size());
  for (const ArrayPlan& array : explanation.plan.arrays) arrays.push_back(&array);
  std::stable_sort(arrays.begin(), arrays.end(), [](const ArrayPlan* a, const ArrayPlan* b) {
    return NaturalLess(a->name, b->name);
  });
  return arrays;
}

// Arrays that may share a line are of one kind.
std::vector<FoldItem> ItemsOf(const Checkpoint& checkpoint,
                              std::span<const ArrayPlan* const> arrays) {
  absl::flat_hash_map<std::string, int64_t> kinds;
  std::vector<FoldItem> items;
  items.reserve(arrays.size());
  for (const ArrayPlan* array : arrays) {
    const std::string kind = Concat(DTypeName(array->dtype), ShapeText(array->stored.shape),
                                    ShapeText(checkpoint.arrays()[array->array].chunk_shape()),
                                    RuleCell(*array), " ", SpecCell(*array));
    const auto number = static_cast<int64_t>(kinds.size());
    items.push_back({array->name, kinds.try_emplace(kind, number).first->second});
  }
  return items;
}

Table ArrayTable(const Checkpoint& checkpoint, const LoadExplanation& explanation, bool all,
                 const Terminal& terminal) {
  const std::vector<const ArrayPlan*> arrays = InOrder(explanation);
  const std::vector<FoldItem> items = ItemsOf(checkpoint, arrays);
  Table table({{.title = "KEY", .shrinks = true},
               {.title = "", .align = Align::kRight},
               {.title = "DTYPE", .dispensable = 5},
               {.title = "SHAPE", .dispensable = 2},
               {.title = "RULE", .align = Align::kRight},
               {.title = "SPEC", .shrinks = true},
               {.title = "SHARD", .dispensable = 1},
               {.title = "PER DEVICE", .align = Align::kRight},
               {.title = "READS", .align = Align::kRight, .dispensable = 4},
               {.title = "AMPL", .align = Align::kRight, .dispensable = 3}});
  for (const Fold& fold : all ? UnfoldedKeys(items) : FoldKeys(items)) {
    const ArrayPlan& first = *arrays[fold.items[0]];
    int64_t requests = 0;
    int64_t bytes = 0;
    for (size_t i : fold.items) {
      requests = Sum(requests, arrays[i]->requests);
      bytes = Sum(bytes, arrays[i]->device_bytes);
    }
    table.Add({Printable(fold.key.empty() ? "(the root)" : fold.key, terminal),
               TimesText(fold.items.size(), terminal), std::string(DTypeName(first.dtype)),
               ShapeText(first.stored.shape), RuleCell(first), Printable(SpecCell(first), terminal),
               ShapeText(first.shard_shape), SizeText(bytes), CountText(requests),
               Rounded(first.amplification())});
  }
  return table;
}

std::string Plural(int64_t count, std::string_view noun) {
  return Concat(CountText(count), " ", noun, count == 1 ? "" : noun.ends_with("ss") ? "es" : "s");
}

std::string DeviceLine(const LoadExplanation& explanation) {
  int64_t least = explanation.plan.devices.empty() ? 0 : explanation.plan.devices[0].bytes;
  int64_t most = least;
  for (const checkpoint::DevicePlan& device : explanation.plan.devices) {
    least = std::min(least, device.bytes);
    most = std::max(most, device.bytes);
  }
  std::string text =
      Concat(Plural(explanation.mesh.size(), "device"), " (", explain::MeshWord(explanation.mesh),
             ") on ", Plural(explanation.hosts, "host"), ": ");
  text += least == most ? Concat(SizeText(most), explanation.mesh.size() == 1 ? "" : " each")
                        : Concat(SizeText(least), " to ", SizeText(most));
  text += Concat(", balance ", Rounded(explanation.plan.balance()));
  if (!explanation.device_budget.has_value()) return text;
  const int64_t budget = *explanation.device_budget;
  return Concat(text, ", budget ", SizeText(budget), ": ",
                most > budget ? Concat(SizeText(most - budget), " too much")
                              : Concat(SizeText(budget - most), " to spare"));
}

std::string ReadLine(const LoadExplanation& explanation) {
  return Concat(
      "reads ", SizeText(explanation.read_bytes), " in ", Plural(explanation.requests, "request"),
      " for ", Plural(static_cast<int64_t>(explanation.plan.arrays.size()), "array"), " of ",
      SizeText(explanation.nbytes), ", amplification ", Rounded(explanation.amplification()));
}

std::string ProcessTable(const LoadExplanation& explanation, bool all, const Terminal& terminal) {
  const auto& processes = explanation.plan.processes;
  Table table({{.title = "PROCESS", .align = Align::kRight},
               {.title = "RESULT", .align = Align::kRight},
               {.title = "READ", .align = Align::kRight},
               {.title = "REQUESTS", .align = Align::kRight},
               {.title = "DECODED", .align = Align::kRight, .dispensable = 1},
               {.title = "PEAK MEMORY", .align = Align::kRight}});
  for (size_t i = 0; i < processes.size(); ++i) {
    // The last one stands for those between.
    if (!all && processes.size() > kMostListed && i >= kMostListed - 1 &&
        i + 1 < processes.size()) {
      if (i == kMostListed - 1) table.Add({std::string(terminal.ellipsis()), "", "", "", "", ""});
      continue;
    }
    const checkpoint::ProcessPlan& process = processes[i];
    table.Add({Concat(process.process), SizeText(process.result_bytes),
               SizeText(process.read_bytes), CountText(process.requests),
               SizeText(process.decoded_bytes), SizeText(process.peak_bytes)});
  }
  return table.Text(terminal);
}

std::string DeviceTable(const LoadExplanation& explanation, const Terminal& terminal) {
  Table table({{.title = "DEVICE", .align = Align::kRight},
               {.title = "PROCESS", .align = Align::kRight},
               {.title = "BYTES", .align = Align::kRight}});
  for (const checkpoint::DevicePlan& device : explanation.plan.devices) {
    table.Add({Concat(device.device.id), Concat(device.device.process), SizeText(device.bytes)});
  }
  return table.Text(terminal);
}

}  // namespace

void WritePlanText(const Checkpoint& checkpoint, const LoadExplanation& explanation, bool all,
                   const Terminal& terminal, Output& out) {
  Table table = ArrayTable(checkpoint, explanation, all, terminal);
  table.AddLine();
  out.Write(table.Text(terminal));
  out.WriteLine(terminal.Bold(Printable(DeviceLine(explanation), terminal)));
  out.WriteLine(terminal.Bold(Printable(ReadLine(explanation), terminal)));
  out.WriteLine("");
  out.Write(ProcessTable(explanation, all, terminal));
  if (all) out.Write(Concat("\n", DeviceTable(explanation, terminal)));
  if (explanation.warnings.empty()) return;
  out.WriteLine("");
  for (const explain::Warning& warning : explanation.warnings) {
    const std::string kind = Concat(warning.kind, ":");
    out.WriteLine(Concat(warning.kind == "over_budget" ? terminal.Red(kind) : terminal.Yellow(kind),
                         " ", Printable(warning.detail, terminal)));
  }
}

}  // namespace tessera::cli
