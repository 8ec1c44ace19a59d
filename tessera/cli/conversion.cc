#include "tessera/cli/conversion.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/find.h"
#include "tessera/codec/parse_specs.h"
#include "tessera/convert/destination.h"
#include "tessera/convert/publish.h"
#include "tessera/convert/source.h"
#include "tessera/core/environment.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

using convert::ConvertProgress;
using convert::ConvertReport;
using convert::ConvertRequest;
using convert::TargetFormat;

// A permutation as text, "1,0,2"; nullopt: it is none.
std::optional<Dims> PermutationOf(std::string_view text) {
  Dims permutation;
  while (true) {
    const size_t comma = text.find(',');
    const absl::StatusOr<int64_t> number = ParseInteger(text.substr(0, comma));
    if (!number.ok()) return std::nullopt;
    permutation.push_back(*number);
    if (comma == std::string_view::npos) return permutation;
    text.remove_prefix(comma + 1);
  }
}

// What to tell somebody who ended it: what there is, and how to go on.
absl::Status Interrupted(const ConvertRequest& request, const std::string& destination) {
  std::string text = Concat("interrupted; ", Quoted(destination),
                            request.overwrite ? " is as it was" : " was not made");
  const auto place = convert::ParseDestination(destination);
  if (place.ok() && convert::IsThere(place->staging())) {
    text += Concat("; the same command goes on with what is in ", place->staging());
  }
  return Cancelled(text);
}

absl::Status WithHint(const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  return absl::Status(status.code(), Concat(message, ": --overwrite"));
}

std::string_view PhaseText(ConvertProgress::Phase phase, std::string_view doing) {
  return phase == ConvertProgress::Phase::kCopy ? doing : "comparing";
}

absl::StatusOr<ConvertReport> Convert(const ConvertRequest& request, const Arguments& arguments,
                                      Context& context, std::string_view doing) {
  ProgressLine line = context.Progress(ShareText(doing, context));
  ConvertProgress::Phase phase = ConvertProgress::Phase::kCopy;
  const auto listener = [&](const ConvertProgress& now) {
    if (now.phase != phase) line.Begin(ShareText(PhaseText(now.phase, doing), context));
    phase = now.phase;
    line.Update({now.bytes_done, now.bytes_total, now.arrays_done, now.arrays_total});
  };
  auto report = convert::Convert(arguments.Positional(0), arguments.Positional(1), request,
                                 {.io = context.io(), .comm = context.other_ranks()}, listener,
                                 context.stop());
  if (absl::IsCancelled(report.status()) && context.stop().stop_requested()) {
    return Interrupted(request, arguments.Positional(1));
  }
  if (absl::IsAlreadyExists(report.status())) return WithHint(report.status());
  return report;
}

OrderedJson JsonOf(const ConvertReport& report, const ConvertRequest& request) {
  OrderedJson json{{"arrays", report.arrays},
                   {"nbytes", report.nbytes},
                   {"seconds", report.seconds},
                   {"format", convert::TargetFormatName(request.target.format)},
                   {"copied_arrays", report.copied_arrays},
                   {"resumed_arrays", report.resumed_arrays},
                   {"verified", request.verify},
                   {"seconds_verify", report.seconds_verify},
                   {"peak_bytes", report.peak_bytes}};
  if (request.target.shards.has_value()) {
    json["unmatched"] = report.unmatched;
    json["corrections"] = report.corrections;
  }
  return json;
}

// The first of a list, and how many there are.
std::string ListText(const std::vector<std::string>& items, const Terminal& terminal) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kMost); ++i) {
    text += Concat("  ", Printable(items[i], terminal), "\n");
  }
  if (items.size() > kMost) {
    text += Concat("  and ", items.size() - kMost, " more; --json has all of them\n");
  }
  return text;
}

std::string Text(const ConvertReport& report, const ConvertRequest& request,
                 const std::string& destination, std::string_view done, const Terminal& terminal) {
  std::string text =
      Concat(done, " ", CountText(report.arrays), report.arrays == 1 ? " array, " : " arrays, ",
             SizeText(report.nbytes), ", to ", convert::TargetFormatName(request.target.format),
             " at ", Printable(destination, terminal), fmt::format(" in {:.1f} s", report.seconds),
             request.verify ? "; read back and compared\n" : "; not read back\n");
  if (report.resumed_arrays > 0) {
    text += Concat(CountText(report.resumed_arrays), " of them were there from a run before\n");
  }
  if (!report.unmatched.empty()) {
    text += Concat("no rule takes these, which are chunked by size:\n",
                   ListText(report.unmatched, terminal));
  }
  if (!report.corrections.empty()) {
    text += Concat("corrected, as the mesh does not divide them:\n",
                   ListText(report.corrections, terminal));
  }
  return text;
}

absl::StatusOr<Answer> ShowPlan(const ConvertRequest& request, const Arguments& arguments,
                                Context& context) {
  TESSERA_ASSIGN_OR_RETURN(
      const convert::ConvertPlan plan,
      convert::PlanConversion(arguments.Positional(0), arguments.Positional(1), request,
                              {.io = context.io(), .comm = context.other_ranks()}, context.stop()));
  if (arguments.json()) {
    context.out().WriteJson(OrderedJson(ToJson(plan)));
  } else {
    std::string text = plan.Text();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      context.out().WriteLine(Printable(text.substr(begin, end - begin), context.terminal()));
      begin = end + 1;
    }
  }
  return Answer::kYes;
}

}  // namespace

comm::Limit WholeWork() { return {.timeout = std::chrono::hours(24)}; }

std::string ShareText(std::string_view what, const Context& context) {
  const int ranks = context.ranks();
  if (ranks == 1) return std::string(what);
  return Concat(what, " (1 of ", ranks, " shares)");
}

absl::StatusOr<convert::RenameRule> ParseRename(std::string_view text) {
  const size_t arrow = text.find("=>");
  if (arrow == std::string_view::npos || arrow == 0) {
    return InvalidArgument("--rename ", Quoted(text),
                           ": expected 'RE=>TEXT', as '^model\\.=>' or 'kernel$=>weight'");
  }
  return convert::RenameRule{std::string(text.substr(0, arrow)),
                             std::string(text.substr(arrow + 2))};
}

absl::StatusOr<convert::TransposeRule> ParseTranspose(std::string_view text) {
  const size_t equal = text.rfind('=');
  if (equal != std::string_view::npos) {
    std::optional<Dims> permutation = PermutationOf(text.substr(equal + 1));
    if (permutation.has_value()) {
      return convert::TransposeRule{std::string(text.substr(0, equal)), std::move(permutation)};
    }
  }
  if (text.empty()) {
    return InvalidArgument("--transpose '': expected RE, or RE=PERMUTATION as 'kernel$=1,0'");
  }
  return convert::TransposeRule{std::string(text)};
}

absl::StatusOr<std::pair<std::string, std::string>> ParseMetadataItem(std::string_view text) {
  const size_t equal = text.find('=');
  if (equal == std::string_view::npos || equal == 0) {
    return InvalidArgument("--metadata ", Quoted(text), ": expected KEY=VALUE, as 'format=pt'");
  }
  return std::pair(std::string(text.substr(0, equal)), std::string(text.substr(equal + 1)));
}

std::vector<Option> ConversionOptions() {
  return {
      MatchOption(),
      {.name = "--prefix", .value = "P", .help = "only the arrays that SRC has under this prefix"},
      {.name = "--codec",
       .value = "C",
       .help = "zstd, gzip, zlib, bz2, blosc, crc32c or none, with a level as zstd:3"},
      {.name = "--memory", .value = "SIZE", .help = "what may be in memory; 1GiB unless given"},
      {.name = "--overwrite", .help = "replace a checkpoint that is at DST, in one step"},
      {.name = "--no-verify", .help = "do not read everything back and compare"},
      {.name = "--no-resume", .help = "begin anew where a run before was interrupted"},
      {.name = "--dry-run", .help = "tell what would be done, and do nothing"},
  };
}

absl::StatusOr<ConvertRequest> CommonRequest(const Arguments& arguments) {
  ConvertRequest request;
  request.source_prefix = arguments.Text("--prefix");
  request.match = arguments.Text("--match");
  request.overwrite = arguments.Has("--overwrite");
  request.verify = !arguments.Has("--no-verify");
  request.resume = !arguments.Has("--no-resume");
  if (const auto codec = arguments.Text("--codec"); codec.has_value()) {
    auto specs = codec::ParseSpecs(*codec);
    if (!specs.ok()) return Prefixed(specs.status(), "--codec");
    request.target.codec = *std::move(specs);
  }
  return request;
}

absl::Status UseMemory(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> memory, arguments.Size("--memory"));
  if (memory.has_value() && *memory == 0) {
    return InvalidArgument("--memory is 0; expected some memory, as 1GiB");
  }
  if (memory.has_value()) context.set_memory(*memory);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TargetFormat>> FormatAskedFor(const Arguments& arguments) {
  if (const auto name = arguments.Text("--to"); name.has_value()) {
    auto format = convert::ParseTargetFormat(*name);
    if (!format.ok()) return Prefixed(format.status(), "--to");
    return *format;
  }
  std::string_view destination = arguments.Positional(1);
  while (destination.ends_with("/")) destination.remove_suffix(1);
  if (destination.ends_with(".safetensors")) return TargetFormat::kSafetensors;
  if (destination.ends_with(".zarr")) {
    return InvalidArgument(Quoted(destination), " may be of two versions of zarr; add --to zarr2 ",
                           "or --to zarr3");
  }
  return std::nullopt;
}

absl::StatusOr<TargetFormat> FormatOfSource(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const convert::ConvertSource source,
                           convert::OpenSource(arguments.Positional(0), arguments.Text("--prefix"),
                                               context.io(), context.stop()));
  auto format = convert::FormatOf(source);
  if (!format.ok()) return Prefixed(format.status(), "add --to FORMAT");
  return format;
}

absl::StatusOr<Answer> RunConversion(const ConvertRequest& request, const Arguments& arguments,
                                     Context& context, std::string_view doing,
                                     std::string_view done) {
  if (arguments.Has("--dry-run")) return ShowPlan(request, arguments, context);
  TESSERA_ASSIGN_OR_RETURN(const ConvertReport report, Convert(request, arguments, context, doing));
  if (arguments.json()) {
    context.out().WriteJson(JsonOf(report, request));
  } else {
    context.out().Write(Text(report, request, arguments.Positional(1), done, context.terminal()));
  }
  return Answer::kYes;
}

}  // namespace tessera::cli
