// tessera ls
#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/stored_sizes.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/fold.h"
#include "tessera/cli/listing.h"
#include "tessera/cli/output.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/cli/wrap.h"
#include "tessera/core/natural_order.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

// By hand, as a tree of 100,000 values takes longer to build than to read.
void WriteListing(const Listing& listing, Output& out) {
  OrderedJson head{{"format", listing.format}, {"path", listing.path}};
  head["prefixes"] = listing.prefixes;
  std::string text = JsonLine(head);
  text.pop_back();
  out.Write(Concat(text, ",\"arrays\":["));
  for (size_t i = 0; i < listing.arrays.size() && !out.closed(); ++i) {
    out.Write(Concat(i == 0 ? "\n" : ",\n", JsonText(listing.arrays[i])));
  }
  out.WriteLine("\n]}");
}

Table ArrayTable(const Listing& listing, bool all, const Terminal& terminal) {
  const std::vector<int64_t> kinds = KindsOf(listing);
  std::vector<FoldItem> items;
  for (size_t i = 0; i < kinds.size(); ++i) items.push_back({listing.arrays[i].key, kinds[i]});
  std::vector<Column> columns = {{.title = "KEY", .shrinks = true},
                                 {.title = "", .align = Align::kRight},
                                 {.title = "DTYPE"},
                                 {.title = "SHAPE", .dispensable = 1},
                                 {.title = "SIZE", .align = Align::kRight}};
  if (listing.has_details) {
    columns.push_back({.title = "STORED", .align = Align::kRight, .dispensable = 2});
    columns.push_back({.title = "CHUNKS", .dispensable = 4});
    columns.push_back({.title = "CODEC", .dispensable = 3});
  }
  Table table(std::move(columns));
  for (const Fold& fold : all ? UnfoldedKeys(items) : FoldKeys(items)) {
    const ListedArray& first = listing.arrays[fold.items[0]];
    Totals totals;
    for (size_t i : fold.items) totals.Add(listing.arrays[i]);
    std::vector<std::string> cells = {
        Printable(fold.key.empty() ? "(the root)" : fold.key, terminal),
        TimesText(fold.items.size(), terminal), std::string(DTypeName(first.dtype)),
        ShapeText(first.shape), SizeText(totals.nbytes)};
    if (listing.has_details) {
      cells.insert(cells.end(),
                   {SizeText(totals.stored_bytes), ShapeText(first.chunk_shape), first.codec});
    }
    table.Add(std::move(cells));
  }
  return table;
}

// The part of a key that `depth` components make.
std::string_view HeadOf(std::string_view key, int64_t depth) {
  size_t end = 0;
  for (int64_t i = 0; i < depth; ++i) {
    end = key.find('.', end);
    if (end == std::string_view::npos) return key;
    ++end;
  }
  return key.substr(0, end - 1);
}

struct NaturalOrder {
  bool operator()(std::string_view a, std::string_view b) const { return NaturalLess(a, b); }
};
using Groups = std::map<std::string_view, Totals, NaturalOrder>;

Groups GroupAt(const Listing& listing, int64_t depth) {
  Groups groups;
  for (const ListedArray& array : listing.arrays) groups[HeadOf(array.key, depth)].Add(array);
  return groups;
}

Table GroupTable(const Groups& groups, bool has_details, const Terminal& terminal) {
  std::vector<Column> columns = {{.title = "KEY", .shrinks = true},
                                 {.title = "ARRAYS", .align = Align::kRight},
                                 {.title = "SIZE", .align = Align::kRight}};
  if (has_details) {
    columns.push_back({.title = "STORED", .align = Align::kRight, .dispensable = 1});
  }
  Table table(std::move(columns));
  for (const auto& [key, totals] : groups) {
    std::vector<std::string> cells = {Printable(key, terminal), CountText(totals.arrays),
                                      SizeText(totals.nbytes)};
    if (has_details) cells.push_back(SizeText(totals.stored_bytes));
    table.Add(std::move(cells));
  }
  return table;
}

std::string TotalsLine(const Listing& listing, const Terminal& terminal) {
  const Totals totals = TotalsOf(listing);
  std::string text = Concat(CountText(totals.arrays), totals.arrays == 1 ? " array, " : " arrays, ",
                            SizeText(totals.nbytes), ", ");
  if (listing.has_details) text += Concat(SizeText(totals.stored_bytes), " stored, ");
  text += listing.format;
  if (listing.prefixes.size() == 1 && !listing.prefixes[0].empty()) {
    text += Concat(", prefix ", listing.prefixes[0]);
  }
  if (listing.prefixes.size() > 1) text += Concat(", ", listing.prefixes.size(), " prefixes");
  if (!listing.has_details) text += "; chunks, codecs and stored sizes with --long";
  text = Printable(text, terminal);
  if (terminal.columns > 0) text = Wrapped(text, 0, static_cast<size_t>(terminal.columns));
  if (text.ends_with('\n')) text.pop_back();
  return terminal.Bold(text);
}

absl::StatusOr<Answer> RunLs(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> depth, arguments.Count("--depth"));
  const bool all_details = arguments.json() || arguments.Has("--long");
  TESSERA_ASSIGN_OR_RETURN(const Listing listing,
                           ListArrays(arguments.Positional(0), arguments, context,
                                      all_details ? Details::kAll : Details::kOfFew));
  if (arguments.json()) {
    WriteListing(listing, context.out());
    return Answer::kYes;
  }
  const Terminal& terminal = context.terminal();
  Table table = depth.has_value()
                    ? GroupTable(GroupAt(listing, *depth), listing.has_details, terminal)
                    : ArrayTable(listing, arguments.Has("--all"), terminal);
  table.AddLine();
  context.out().Write(table.Text(terminal));
  context.out().WriteLine(TotalsLine(listing, terminal));
  return Answer::kYes;
}

}  // namespace

Verb LsVerb() {
  return {.name = "ls",
          .summary = "the arrays, with dtypes, shapes and sizes",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {MatchOption(),
                      PrefixOption(),
                      {.name = "--depth",
                       .value = "N",
                       .help = "add up below the first N parts of the keys"},
                      {.name = "--all", .help = "a line for each array, also of repeated layers"},
                      {.name = "--long",
                       .help = "chunks, codecs and stored sizes also of more than 10,000 arrays"}},
          .details =
              "Keys that differ in their numbers alone, and are of one dtype, shape and "
              "chunk shape, are one line; its sizes are those of all of them. No array is "
              "read. Of more than 10,000 arrays that an index lists, text shows what the index "
              "says, as the rest lies with each array; JSON is always complete.",
          .examples = {{"tessera ls run-1000", "all arrays, repeated layers folded"},
                       {"tessera ls run-1000 --depth 2", "how large each part of the model is"},
                       {"tessera ls run-1000 --json | jq -r '.arrays[].key'", "the keys alone"}},
          .run = RunLs};
}

}  // namespace tessera::cli
