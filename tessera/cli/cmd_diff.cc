// tessera diff
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/fold.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/natural_order.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/inspect/difference.h"

namespace tessera::cli {
namespace {

using inspect::ChangedArray;
using inspect::CheckpointDifference;
using inspect::Comparison;
using inspect::DiffLevel;
using inspect::Distances;

absl::StatusOr<inspect::DiffOptions> OptionsOf(const Arguments& arguments) {
  inspect::DiffOptions options{.match = arguments.Text("--match").value_or("")};
  for (const std::string& text : arguments.Texts("--rename")) {
    const size_t arrow = text.find("=>");
    if (arrow == std::string::npos) {
      return InvalidArgument("--rename ", Quoted(text), ": expected 'PATTERN=>REPLACEMENT'");
    }
    options.renames.emplace_back(text.substr(0, arrow), text.substr(arrow + 2));
  }
  if (arguments.Has("--values") && arguments.Has("--structure")) {
    return InvalidArgument("--values and --structure: expected one of them at most");
  }
  if (arguments.Has("--values")) options.level = DiffLevel::kValues;
  if (arguments.Has("--structure")) options.level = DiffLevel::kStructure;
  return options;
}

OrderedJson JsonOf(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}
OrderedJson JsonOf(const Dims& dims) { return std::vector<int64_t>(dims.begin(), dims.end()); }

void AddDistances(const Distances& distances, OrderedJson& json) {
  const auto* exact = std::get_if<uint64_t>(&distances.max_abs);
  json["max_abs"] =
      exact != nullptr ? OrderedJson(*exact) : JsonOf(inspect::AsDouble(distances.max_abs));
  json["max_rel"] = JsonOf(distances.max_rel);
  json["max_ulp"] = nullptr;
  if (distances.max_ulp.has_value()) json["max_ulp"] = *distances.max_ulp;
  json["cosine"] = nullptr;
  if (const auto cosine = distances.Cosine()) json["cosine"] = JsonOf(*cosine);
  json["nan_mismatches"] = distances.nan_mismatches;
  json["same_number"] = distances.same_number;
}

OrderedJson JsonOf(const ChangedArray& changed) {
  OrderedJson json{{"key", changed.key_a}};
  if (changed.key_b != changed.key_a) json["key_b"] = changed.key_b;
  json["what"] = inspect::WhatName(changed.what);
  json["dtype_a"] = DTypeName(changed.a.dtype);
  json["dtype_b"] = DTypeName(changed.b.dtype);
  json["shape_a"] = JsonOf(changed.a.shape);
  json["shape_b"] = JsonOf(changed.b.shape);
  if (!changed.comparison.has_value()) return json;
  json["elements"] = changed.comparison->elements;
  json["different"] = changed.comparison->different;
  json["first_different"] = nullptr;
  if (changed.first_different.has_value()) {
    json["first_different"] = JsonOf(*changed.first_different);
  }
  if (changed.comparison->distances.has_value()) {
    AddDistances(*changed.comparison->distances, json);
  }
  return json;
}

OrderedJson JsonOf(const CheckpointDifference& difference) {
  OrderedJson json{{"same", difference.same()}};
  json["only_a"] = difference.only_a;
  json["only_b"] = difference.only_b;
  json["changed"] = OrderedJson::array();
  for (const ChangedArray& changed : difference.changed) {
    json["changed"].push_back(JsonOf(changed));
  }
  json["same_arrays"] = difference.same_arrays;
  return json;
}

// Lines that begin with a sign, repeated layers folded.
void WriteOnly(std::vector<std::string> keys, std::string_view sign, bool all, Context& context) {
  std::sort(keys.begin(), keys.end(), NaturalLess);
  std::vector<FoldItem> items;
  for (const std::string& key : keys) items.push_back({key});
  const Terminal& terminal = context.terminal();
  for (const Fold& fold : all ? UnfoldedKeys(items) : FoldKeys(items)) {
    std::string line = Concat(sign, " ", Printable(fold.key, terminal));
    if (fold.items.size() > 1) line += Concat("  ", TimesText(fold.items.size(), terminal));
    context.out().WriteLine(sign == "-" ? terminal.Red(line) : terminal.Green(line));
  }
}

std::string ChangeText(const ChangedArray& changed, const Terminal& terminal) {
  const std::string_view arrow = terminal.unicode ? " → " : " -> ";
  std::string text;
  if (changed.what == ChangedArray::What::kShape) {
    text = Concat("shape ", ShapeText(changed.a.shape), arrow, ShapeText(changed.b.shape));
  }
  if (changed.a.dtype != changed.b.dtype) {
    text += Concat(text.empty() ? "" : ", ", "dtype ", DTypeName(changed.a.dtype), arrow,
                   DTypeName(changed.b.dtype));
  }
  return text.empty() ? "values" : text;
}

std::string KeyText(const ChangedArray& changed, const Terminal& terminal) {
  std::string text = Concat("~ ", Printable(changed.key_a, terminal));
  if (changed.key_b == changed.key_a) return text;
  return Concat(text, terminal.unicode ? " → " : " -> ", Printable(changed.key_b, terminal));
}

std::string NumberCell(const inspect::Number& number) {
  if (const auto* exact = std::get_if<uint64_t>(&number)) return fmt::format("{}", *exact);
  return fmt::format("{:.4g}", inspect::AsDouble(number));
}

// The cells after the change: none where elements were not compared.
std::vector<std::string> NumberCells(const ChangedArray& changed, bool values) {
  std::vector<std::string> cells(values ? 7 : 2);
  if (!changed.comparison.has_value()) return cells;
  const Comparison& found = *changed.comparison;
  cells[0] = Concat(CountText(found.different), " of ", CountText(found.elements));
  if (changed.first_different.has_value()) cells[1] = ShapeText(*changed.first_different);
  if (!values || !found.distances.has_value()) return cells;
  const Distances& distances = *found.distances;
  cells[2] = NumberCell(distances.max_abs);
  cells[3] = fmt::format("{:.4g}", distances.max_rel);
  cells[4] = distances.max_ulp.has_value() ? fmt::format("{}", *distances.max_ulp) : "-";
  const auto cosine = distances.Cosine();
  cells[5] = cosine.has_value() ? fmt::format("{:.6f}", *cosine) : "-";
  cells[6] = distances.nan_mismatches == 0 ? "" : CountText(distances.nan_mismatches);
  return cells;
}

void WriteChanged(const std::vector<ChangedArray>& changes, DiffLevel level, Context& context) {
  const Terminal& terminal = context.terminal();
  std::vector<Column> columns = {{.title = "KEY", .shrinks = true}, {.title = "CHANGE"}};
  const bool values = level == DiffLevel::kValues;
  if (level != DiffLevel::kStructure) {
    columns.push_back({.title = "DIFFERENT", .align = Align::kRight});
    columns.push_back({.title = "FIRST AT", .dispensable = 2});
  }
  if (values) {
    columns.push_back({.title = "MAX ABS", .align = Align::kRight});
    columns.push_back({.title = "MAX REL", .align = Align::kRight, .dispensable = 1});
    columns.push_back({.title = "MAX ULP", .align = Align::kRight});
    columns.push_back({.title = "COSINE", .align = Align::kRight});
    columns.push_back({.title = "NAN", .align = Align::kRight});
  }
  Table table(columns);
  for (const ChangedArray& changed : changes) {
    std::vector<std::string> cells = {KeyText(changed, terminal), ChangeText(changed, terminal)};
    if (level != DiffLevel::kStructure) {
      for (std::string& cell : NumberCells(changed, values)) cells.push_back(std::move(cell));
    }
    table.Add(std::move(cells));
  }
  context.out().Write(table.Text(terminal));
}

std::string TotalsLine(const CheckpointDifference& difference, DiffLevel level,
                       const Terminal& terminal) {
  const auto arrays = [](int64_t count) {
    return Concat(CountText(count), count == 1 ? " array" : " arrays");
  };
  if (difference.same()) {
    return terminal.Green(Concat("the same ", level == DiffLevel::kStructure ? "structure" : "",
                                 level == DiffLevel::kStructure ? ": " : "",
                                 arrays(difference.same_arrays)));
  }
  return terminal.Bold(Concat(CountText(int64_t(difference.only_a.size())), " only in A, ",
                              CountText(int64_t(difference.only_b.size())), " only in B, ",
                              CountText(int64_t(difference.changed.size())), " changed, ",
                              CountText(difference.same_arrays), " the same"));
}

absl::StatusOr<CheckpointDifference> Compare(const Arguments& arguments,
                                             inspect::DiffOptions& options, Context& context) {
  const Reads reads = options.level == DiffLevel::kStructure ? Reads::kMetadata : Reads::kData;
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::Checkpoint a,
                           OpenCheckpoint(arguments.Positional(0), arguments, context, reads));
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::Checkpoint b,
                           OpenCheckpoint(arguments.Positional(1), arguments, context, reads));
  ProgressLine line = context.Progress("comparing");
  options.on_progress = [&](const inspect::DiffProgress& now) {
    line.Update({now.bytes_done, now.bytes_total, now.arrays_done, now.arrays_total});
  };
  return inspect::DiffCheckpoints(a, b, options, context.io(), context.stop());
}

absl::StatusOr<Answer> RunDiff(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(inspect::DiffOptions options, OptionsOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(const CheckpointDifference difference,
                           Compare(arguments, options, context));
  const Answer answer = difference.same() ? Answer::kYes : Answer::kNo;
  if (arguments.json()) {
    context.out().WriteJson(JsonOf(difference));
    return answer;
  }
  const bool all = arguments.Has("--all");
  WriteOnly(difference.only_a, "-", all, context);
  WriteOnly(difference.only_b, "+", all, context);
  if (!difference.changed.empty()) WriteChanged(difference.changed, options.level, context);
  context.out().WriteLine(TotalsLine(difference, options.level, context.terminal()));
  return answer;
}

}  // namespace

Verb DiffVerb() {
  return {
      .name = "diff",
      .summary = "what differs between two checkpoints, of any formats",
      .positionals = {{"A", "a folder or a file"}, {"B", "another one"}},
      .options = {{.name = "--rename",
                   .value = "RE=>TEXT",
                   .help = "change the keys of A first, as Python's re.sub; may be repeated",
                   .repeats = true},
                  MatchOption(),
                  PrefixOption(),
                  {.name = "--values", .help = "also how far apart the numbers are"},
                  {.name = "--structure", .help = "only keys, dtypes and shapes; reads no array"},
                  {.name = "--all", .help = "a line for each key, also of repeated layers"}},
      .details =
          "Elements of one dtype differ when their bytes do, as their hashes then do. With "
          "--values the numbers are compared, also across dtypes: NaN is the same as NaN and "
          "-0 as 0 there, and max_rel is the largest |a - b| / max(|a|, |b|); max_ulp counts "
          "the numbers between two of one float type. Integers are compared exactly.\n\n"
          "Arrays whose manifests name the same chunks are not read; verify tells whether "
          "chunks are what a manifest says. Exit code 1: they differ.",
      .examples = {{"tessera diff run-1000 run-2000 --values", "how far training has moved"},
                   {"tessera diff run-1000 model.safetensors --rename '^model\\.=>'",
                    "whether an export has the same weights"},
                   {"tessera diff a b --json | jq -r '.changed[].key'", "the keys alone"}},
      .run = RunDiff};
}

}  // namespace tessera::cli
