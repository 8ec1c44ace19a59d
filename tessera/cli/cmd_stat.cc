// tessera stat
#include <atomic>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/histogram_text.h"
#include "tessera/cli/output.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/inspect/statistics.h"

namespace tessera::cli {
namespace {

using checkpoint::CheckpointArray;
using inspect::ArrayStatistics;

constexpr int kBins = 40;
constexpr size_t kSparkBins = 20;
constexpr size_t kBars = 20;
constexpr int kBarColumns = 40;

struct ArrayResult {
  const CheckpointArray* array;
  ArrayStatistics statistics;
};

absl::StatusOr<std::vector<ArrayResult>> ComputeAll(
    const checkpoint::Checkpoint& checkpoint, const std::vector<const CheckpointArray*>& arrays,
    int bins, Context& context) {
  ProgressState state{.arrays_total = static_cast<int64_t>(arrays.size())};
  for (const CheckpointArray* array : arrays) {
    state.bytes_total += NumBytes(array->dtype(), array->shape()).value_or(0);
  }
  ProgressLine line = context.Progress("reading");
  std::atomic<int64_t> bytes = 0;
  std::vector<ArrayResult> results;
  for (const CheckpointArray* array : arrays) {
    const auto tell = [&](int64_t more) {
      ProgressState now = state;
      now.bytes_done = bytes += more;
      line.Update(now);
    };
    auto statistics = inspect::ComputeStatistics(
        checkpoint, *array, {.bins = bins, .on_bytes = tell}, context.io(), context.stop());
    if (!statistics.ok()) return Prefixed(statistics.status(), array->name);
    results.push_back({array, *std::move(statistics)});
    ++state.arrays_done;
  }
  return results;
}

// JSON has no NaN and no infinities.
OrderedJson JsonOf(const std::optional<inspect::Number>& number) {
  if (!number.has_value()) return nullptr;
  return std::visit(
      [](auto value) -> OrderedJson {
        const auto wide = static_cast<double>(value);
        if (std::isnan(wide)) return "NaN";
        if (std::isinf(wide)) return wide > 0 ? "Infinity" : "-Infinity";
        return value;
      },
      *number);
}

OrderedJson JsonOf(const ArrayResult& result) {
  const ArrayStatistics& found = result.statistics;
  OrderedJson json{{"dtype", DTypeName(result.array->dtype())}};
  json["shape"] = std::vector<int64_t>(result.array->shape().begin(), result.array->shape().end());
  json["count"] = found.count;
  json["finite"] = found.finite;
  json["min"] = JsonOf(found.min);
  json["max"] = JsonOf(found.max);
  json["mean"] = JsonOf(found.mean);
  json["std"] = JsonOf(found.deviation);
  json["zeros"] = found.zeros;
  json["nan"] = found.nan;
  json["inf"] = found.positive_infinities + found.negative_infinities;
  json["positive_inf"] = found.positive_infinities;
  json["negative_inf"] = found.negative_infinities;
  json["histogram"] = {{"edges", found.histogram.edges}, {"counts", found.histogram.counts}};
  return json;
}

// By hand, as an ordered object looks through all of its keys for each that is added.
void WriteJson(const std::vector<ArrayResult>& results, Output& out) {
  out.Write("{\"arrays\":{");
  for (size_t i = 0; i < results.size() && !out.closed(); ++i) {
    out.Write(Concat(i == 0 ? "\n" : ",\n", JsonLine(results[i].array->name), ":",
                     JsonLine(JsonOf(results[i]))));
  }
  out.WriteLine("\n}}");
}

std::string ShortText(const std::optional<double>& number) {
  return number.has_value() ? fmt::format("{:.6g}", *number) : "-";
}
std::string ShortText(const std::optional<inspect::Number>& number) {
  if (!number.has_value()) return "-";
  if (const double* value = std::get_if<double>(&*number)) return fmt::format("{:.6g}", *value);
  return inspect::NumberText(*number, DType::kInt64);
}

std::string ShareText(int64_t part, int64_t count) {
  if (part == 0) return "0";
  return fmt::format("{} ({:.2g}%)", CountText(part),
                     100.0 * static_cast<double>(part) / static_cast<double>(count));
}

// Only what is not as it should be stands out.
std::string BadText(int64_t count, const Terminal& terminal) {
  return count == 0 ? "0" : terminal.Red(CountText(count));
}

std::string TotalsLine(const std::vector<ArrayResult>& results, const Terminal& terminal) {
  int64_t elements = 0;
  int64_t with_nan = 0;
  int64_t with_infinities = 0;
  for (const auto& [array, found] : results) {
    elements += found.count;
    with_nan += found.nan > 0 ? 1 : 0;
    with_infinities += found.positive_infinities + found.negative_infinities > 0 ? 1 : 0;
  }
  const auto text = [](int64_t count, std::string_view what) {
    return count == 0 ? Concat("no ", what) : Concat(what, " in ", CountText(count));
  };
  return terminal.Bold(Concat(CountText(static_cast<int64_t>(results.size())), " arrays, ",
                              CountText(elements), " elements, ", text(with_nan, "NaN"), ", ",
                              text(with_infinities, "Inf")));
}

void WriteTable(const std::vector<ArrayResult>& results, Context& context) {
  const Terminal& terminal = context.terminal();
  Table table({{.title = "KEY", .shrinks = true},
               {.title = "DTYPE", .dispensable = 3},
               {.title = "SHAPE", .dispensable = 2},
               {.title = "MIN", .align = Align::kRight},
               {.title = "MAX", .align = Align::kRight},
               {.title = "MEAN", .align = Align::kRight},
               {.title = "STD", .align = Align::kRight},
               {.title = "ZEROS", .align = Align::kRight, .dispensable = 4},
               {.title = "NAN", .align = Align::kRight},
               {.title = "INF", .align = Align::kRight},
               {.title = "HISTOGRAM", .dispensable = 1}});
  for (const auto& [array, found] : results) {
    const int64_t infinities = found.positive_infinities + found.negative_infinities;
    table.Add({Printable(array->name, terminal), std::string(DTypeName(array->dtype())),
               ShapeText(array->shape()), ShortText(found.min), ShortText(found.max),
               ShortText(found.mean), ShortText(found.deviation), CountText(found.zeros),
               BadText(found.nan, terminal), BadText(infinities, terminal),
               SparkLine(WithFewerBins(found.histogram, kSparkBins).counts, terminal)});
  }
  table.AddLine();
  context.out().Write(table.Text(terminal));
  context.out().WriteLine(TotalsLine(results, terminal));
}

void WriteBars(const inspect::Histogram& histogram, Context& context) {
  const Terminal& terminal = context.terminal();
  const int64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  Table table({{.title = "FROM", .align = Align::kRight},
               {.title = "TO", .align = Align::kRight},
               {.title = "COUNT", .align = Align::kRight},
               {.title = ""}});
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    table.Add({fmt::format("{:.6g}", histogram.edges[i]),
               fmt::format("{:.6g}", histogram.edges[i + 1]), CountText(histogram.counts[i]),
               Bar(histogram.counts[i], most, kBarColumns, terminal)});
  }
  context.out().Write(Concat("\n", table.Text(terminal)));
}

// One array has room for all that is known.
void WriteBlock(const ArrayResult& result, bool all_bins, Context& context) {
  const Terminal& terminal = context.terminal();
  const auto& [array, found] = result;
  const bool complex = InfoOf(array->dtype()).kind == DTypeKind::kComplex;
  const auto exact = [&](const std::optional<inspect::Number>& number) {
    if (!number.has_value()) return std::string("-");
    return inspect::NumberText(*number, complex ? DType::kFloat64 : array->dtype());
  };
  context.out().WriteLine(Concat(terminal.Bold(Printable(array->name, terminal)), "  ",
                                 DTypeName(array->dtype()), "  ", ShapeText(array->shape()),
                                 complex ? "  magnitudes" : ""));
  Table table({{.title = ""}, {.title = ""}});
  table.Add({"elements", CountText(found.count)});
  table.Add({"min", exact(found.min)});
  table.Add({"max", exact(found.max)});
  table.Add({"mean", ShortText(found.mean)});
  table.Add({"std", ShortText(found.deviation)});
  table.Add({"zeros", ShareText(found.zeros, found.count)});
  table.Add({"NaN", BadText(found.nan, terminal)});
  table.Add({"+Inf", BadText(found.positive_infinities, terminal)});
  table.Add({"-Inf", BadText(found.negative_infinities, terminal)});
  context.out().Write(table.Text(terminal));
  if (found.histogram.counts.empty()) return;
  WriteBars(all_bins ? found.histogram : WithFewerBins(found.histogram, kBars), context);
}

absl::StatusOr<Answer> RunStat(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> bins, arguments.Count("--bins"));
  if (bins.value_or(1) > inspect::kMostBins) {
    return InvalidArgument("--bins ", *bins, ": expected at most ", inspect::kMostBins);
  }
  TESSERA_ASSIGN_OR_RETURN(
      const checkpoint::Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kData));
  TESSERA_ASSIGN_OR_RETURN(std::vector<const CheckpointArray*> arrays,
                           SelectArrays(checkpoint, arguments.Text("--match")));
  SortByName(arrays);
  TESSERA_ASSIGN_OR_RETURN(
      const std::vector<ArrayResult> results,
      ComputeAll(checkpoint, arrays, static_cast<int>(bins.value_or(kBins)), context));
  if (arguments.json()) {
    WriteJson(results, context.out());
  } else if (results.size() == 1) {
    WriteBlock(results[0], bins.has_value(), context);
  } else {
    WriteTable(results, context);
  }
  return Answer::kYes;
}

}  // namespace

Verb StatVerb() {
  return {.name = "stat",
          .summary = "minimum, maximum, mean, deviation, NaN and histogram of arrays",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {MatchOption(),
                      PrefixOption(),
                      {.name = "--bins",
                       .value = "N",
                       .help = "bins of the histogram between minimum and maximum; 40 by default"}},
          .details =
              "Minimum, maximum, mean, std and histogram are those of the finite elements; NaN and "
              "infinities are counted apart. Complex elements count by their magnitude. One array "
              "is shown with bars, several as a table.\n\n"
              "Arrays are read in pieces, within TESSERA_MEMORY; those that are larger than a "
              "quarter of it, and have elements of four bytes or more, are read twice.",
          .examples = {{"tessera stat run-1000 --match 'norm'", "of the arrays of all norms"},
                       {"tessera stat run-1000 --match 'embedding'", "one array, with bars"},
                       {"tessera stat run-1000 --json | jq '.arrays | to_entries[] | "
                        "select(.value.nan > 0) | .key'",
                        "which arrays have NaN"}},
          .run = RunStat};
}

}  // namespace tessera::cli
