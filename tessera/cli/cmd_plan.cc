// tessera plan
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/atlas/atlas.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/mesh_options.h"
#include "tessera/cli/plan_report.h"
#include "tessera/cli/text_file.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/dtype.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/explain/draw.h"
#include "tessera/explain/explain_load.h"

namespace tessera::cli {
namespace {

using checkpoint::Checkpoint;
using explain::LoadExplanation;

absl::StatusOr<explain::ExplainRequest> RequestOf(const Arguments& arguments) {
  explain::ExplainRequest request;
  TESSERA_ASSIGN_OR_RETURN(const auto mesh, MeshOf(arguments));
  if (!mesh.has_value()) return InvalidArgument("--mesh M is missing, such as --mesh dp=2,tp=4");
  TESSERA_ASSIGN_OR_RETURN(request.rules, RulesOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(const auto hosts, arguments.Count("--hosts"));
  TESSERA_ASSIGN_OR_RETURN(request.mesh, explain::DealToHosts(*mesh, hosts.value_or(1)));
  TESSERA_ASSIGN_OR_RETURN(request.device_budget, arguments.Size("--budget"));
  TESSERA_ASSIGN_OR_RETURN(const auto memory, arguments.Size("--memory"));
  TESSERA_ASSIGN_OR_RETURN(const int64_t usual, MemoryOfEnvironment());
  request.memory_budget = memory.value_or(usual);
  request.strict = arguments.Has("--strict");
  request.match = arguments.Text("--match").value_or("");
  if (const auto dtype = arguments.Text("--dtype")) {
    const auto parsed = ParseDTypeAlias(*dtype);
    if (!parsed.ok()) return Prefixed(parsed.status(), "--dtype");
    request.cast = *parsed;
  }
  return request;
}

absl::Status Draw(const std::string& key, const Checkpoint& checkpoint,
                  const LoadExplanation& explanation, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::CheckpointArray* array, FindArray(checkpoint, key));
  const auto& plans = explanation.plan.arrays;
  const auto plan =
      std::find_if(plans.begin(), plans.end(), [&](const auto& each) { return each.name == key; });
  if (plan == plans.end()) {
    return NotFound("--draw ", Quoted(key), ": --match leaves this array out");
  }
  const Terminal& terminal = context.terminal();
  const explain::DrawOptions options{.columns = terminal.columns > 0 ? terminal.columns : 100,
                                     .unicode = terminal.unicode,
                                     .colour = terminal.colour};
  TESSERA_ASSIGN_OR_RETURN(const std::string text, explain::DrawArray(*array, *plan, options));
  context.out().WriteLine(terminal.Bold(Printable(key, terminal)));
  context.out().Write(text);
  return absl::OkStatus();
}

absl::Status Show(const Arguments& arguments, const Checkpoint& checkpoint,
                  const LoadExplanation& explanation, Context& context) {
  if (const auto file = arguments.Text("--html")) {
    const std::string html =
        atlas::AtlasHtml(checkpoint, explanation, {.title = arguments.Positional(0)});
    TESSERA_RETURN_IF_ERROR(WriteTextFile(*file, html));
    context.Note(Concat("wrote ", *file, ", ", SizeText(static_cast<int64_t>(html.size()))));
  }
  if (arguments.json()) {
    WritePlanJson(explanation, context.out());
    return absl::OkStatus();
  }
  if (const auto key = arguments.Text("--draw")) {
    return Draw(*key, checkpoint, explanation, context);
  }
  WritePlanText(checkpoint, explanation, arguments.Has("--all"), context.terminal(), context.out());
  return absl::OkStatus();
}

absl::StatusOr<Answer> RunPlan(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const explain::ExplainRequest request, RequestOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(
      const Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kMetadata));
  TESSERA_RETURN_IF_ERROR(SelectArrays(checkpoint, arguments.Text("--match")));
  TESSERA_ASSIGN_OR_RETURN(const LoadExplanation explanation,
                           explain::ExplainLoad(checkpoint, request));
  TESSERA_RETURN_IF_ERROR(Show(arguments, checkpoint, explanation, context));
  return explanation.over_budget.empty() ? Answer::kYes : Answer::kNo;
}

std::vector<Option> PlanOptions() {
  return {
      MeshOption(),
      RulesOption(),
      {.name = "--hosts", .value = "N", .help = "deal the devices to N processes, in order"},
      {.name = "--budget", .value = "S", .help = "memory of one device; exit code 1 when over it"},
      {.name = "--memory", .value = "S", .help = "what a process may use beside the result"},
      {.name = "--strict",
       .help = "refuse specs that do not divide and keys without a rule, as a load does"},
      {.name = "--dtype", .value = "T", .help = "load floating arrays as this dtype"},
      MatchOption(),
      PrefixOption(),
      {.name = "--draw", .value = "KEY", .help = "the shards and chunks of one array, drawn"},
      {.name = "--html",
       .value = "FILE",
       .help = "write the atlas: everything to look at in a browser",
       .is_path = true},
      {.name = "--all", .help = "a line for each array, process and device"}};
}

}  // namespace

Verb PlanVerb() {
  return {.name = "plan",
          .summary = "what a load would do, before doing it",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = PlanOptions(),
          .details =
              "For every array the rule that takes it (by its number in the file, from 0), the "
              "spec, what a device gets, and how its chunks are read; a * marks specs that were "
              "corrected, as the warnings tell. The plan is made by the code that loads; no array "
              "is read.\n\n"
              "Amplification is how often a wanted byte is decoded: more than 1 where shards cut "
              "through chunks. Peak memory of a process is what its devices hold, were they in "
              "its memory, and --memory.",
          .examples = {{"tessera plan run-1000 --mesh dp=2,tp=4 --rules rules.yaml",
                        "a load on 8 devices of one host"},
                       {"tessera plan run-1000 --mesh dp=8,tp=8 --rules rules.yaml --hosts 8 "
                        "--budget 16GiB",
                        "exit code 1 when a device would get more"},
                       {"tessera plan run-1000 --mesh dp=2,tp=4 --rules rules.yaml --draw "
                        "model.embed.embedding",
                        "one array, its shards over its chunks"},
                       {"tessera plan run-1000 --mesh dp=2,tp=4 --rules rules.yaml --html "
                        "atlas.html",
                        "all of it, for a browser"}},
          .run = RunPlan};
}

}  // namespace tessera::cli
