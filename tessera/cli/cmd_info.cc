// tessera info
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/listing.h"
#include "tessera/cli/output.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/json.h"
#include "tessera/core/natural_order.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;
using checkpoint::Integrity;

// Documents that programs leave beside the arrays: eformer's of a step, and of a save.
constexpr std::array<std::string_view, 2> kDocuments = {"metadata.json",
                                                        "checkpoint_metadata.json"};
constexpr int64_t kMaxDocumentBytes = int64_t{1} << 24;

struct Info {
  Listing listing;
  std::string version;  // of the index
  Totals totals;
  std::map<std::string, Totals> dtypes;
  std::map<std::string, Totals> prefixes;
  OrderedJson metadata = OrderedJson::object();
  Integrity integrity = Integrity::kNone;
};

std::string_view IntegrityText(Integrity integrity) {
  switch (integrity) {
    case Integrity::kManifest:
      return "manifest of the save; tessera verify compares every byte with it";
    case Integrity::kSeal:
      return "sealed later; tessera verify compares every byte with the seal";
    case Integrity::kNone:
      return "nobody vouches for the bytes; tessera seal would";
  }
  return "";
}

// A document that cannot be read as JSON is told of as text, not an error: it is not ours.
absl::Status AddDocuments(const Checkpoint& checkpoint, Context& context, OrderedJson& metadata) {
  for (const auto& [name, value] : checkpoint.header_metadata()) metadata[name] = value;
  if (checkpoint.file_set() != nullptr) return absl::OkStatus();
  for (std::string_view name : kDocuments) {
    TESSERA_ASSIGN_OR_RETURN(
        const store::ReadResult read,
        checkpoint.store().Read(name, store::ByteRange::AtMost(kMaxDocumentBytes), context.stop()));
    if (!read.value.has_value()) continue;
    const absl::StatusOr<OrderedJson> document = ParseOrderedJson(read.value->text());
    const std::string text(document.ok() ? "" : document.status().message());
    metadata[std::string(name)] =
        document.ok() ? *document : OrderedJson(Concat("not JSON: ", text));
  }
  return absl::OkStatus();
}

// The prefix that a key begins with; "" where it has none of them.
std::string PrefixOf(const std::string& key, const std::vector<std::string>& prefixes) {
  const std::string first = key.substr(0, key.find('.'));
  return std::find(prefixes.begin(), prefixes.end(), first) == prefixes.end() ? "" : first;
}

absl::StatusOr<Info> ReadInfo(const Arguments& arguments, Context& context) {
  const std::string& location = arguments.Positional(0);
  TESSERA_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                           OpenCheckpoint(location, arguments, context, Reads::kMetadata));
  Info info;
  TESSERA_ASSIGN_OR_RETURN(info.listing, ListingOf(location, checkpoint, std::nullopt, context));
  TESSERA_RETURN_IF_ERROR(AddDocuments(checkpoint, context, info.metadata));
  info.version = checkpoint.index_version();
  info.integrity = checkpoint.integrity();
  info.totals = TotalsOf(info.listing);
  for (const ListedArray& array : info.listing.arrays) {
    info.dtypes[std::string(DTypeName(array.dtype))].Add(array);
    if (info.listing.prefixes.empty()) continue;
    info.prefixes[PrefixOf(array.key, info.listing.prefixes)].Add(array);
  }
  return info;
}

OrderedJson JsonOf(const std::map<std::string, Totals>& groups) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, totals] : groups) {
    json[name] = {{"arrays", totals.arrays},
                  {"nbytes", totals.nbytes},
                  {"stored_bytes", totals.stored_bytes}};
  }
  return json;
}

OrderedJson JsonOf(const Info& info) {
  OrderedJson json{{"format", info.listing.format}, {"arrays", info.totals.arrays},
                   {"nbytes", info.totals.nbytes},  {"stored_bytes", info.totals.stored_bytes},
                   {"dtypes", JsonOf(info.dtypes)}, {"prefixes", JsonOf(info.prefixes)},
                   {"metadata", info.metadata},     {"sealed", info.integrity != Integrity::kNone}};
  json["path"] = info.listing.path;
  if (!info.version.empty()) json["version"] = info.version;
  return json;
}

std::string SizesText(const Totals& totals) {
  return Concat(CountText(totals.arrays), totals.arrays == 1 ? " array, " : " arrays, ",
                SizeText(totals.nbytes), ", ", SizeText(totals.stored_bytes), " stored");
}

std::string Text(const Info& info, const Terminal& terminal) {
  Table table({{.title = ""}, {.title = "", .shrinks = true}});
  const auto add = [&](std::string_view name, std::string_view value) {
    table.Add({std::string(name), Printable(value, terminal)});
  };
  add("path", info.listing.path);
  add("format", info.version.empty()
                    ? info.listing.format
                    : Concat(info.listing.format, ", index version ", info.version));
  add("arrays", SizesText(info.totals));
  for (const auto& [dtype, totals] : info.dtypes) add(dtype, SizesText(totals));
  for (const auto& [prefix, totals] : info.prefixes) {
    add(prefix.empty() ? "no prefix" : Concat("prefix ", prefix), SizesText(totals));
  }
  for (const auto& [name, value] : info.metadata.items()) {
    add(Printable(name, terminal), value.is_string() ? value.get<std::string>() : JsonLine(value));
  }
  add("integrity", IntegrityText(info.integrity));
  return table.Text(terminal);
}

absl::StatusOr<Answer> RunInfo(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const Info info, ReadInfo(arguments, context));
  if (arguments.json()) {
    context.out().WriteJson(JsonOf(info));
  } else {
    context.out().Write(Text(info, context.terminal()));
  }
  return Answer::kYes;
}

}  // namespace

Verb InfoVerb() {
  return {.name = "info",
          .summary = "format, versions, totals, metadata, and who vouches for the bytes",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {PrefixOption()},
          .details = "No array is read.",
          .examples = {{"tessera info run-1000", "what is there"},
                       {"tessera info run-1000 --json | jq .sealed",
                        "whether a manifest or a seal vouches for it"}},
          .run = RunInfo};
}

}  // namespace tessera::cli
