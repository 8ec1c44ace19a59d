// tessera steps
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/open_location.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/cli/wrap.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/steps/catalogue.h"
#include "tessera/store/file_store.h"

namespace tessera::cli {
namespace {

using steps::Catalogue;
using steps::StepInfo;

// A checkpoint that is temporary is committed as well; what is being deleted is neither.
std::string_view StateOf(const StepInfo& step) {
  if (step.deleting) return "deleting";
  if (!step.committed) return "unfinished";
  return step.temporary ? "temporary" : "committed";
}

// As other verbs take it.
std::string PathOf(const std::string& folder, const StepInfo& step) {
  if (step.path.empty()) return folder;
  return folder.ends_with('/') ? folder + step.path : Concat(folder, "/", step.path);
}

absl::StatusOr<Catalogue> Read(const std::string& location, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const std::string folder, checkpoint::FolderOf(location));
  struct stat about = {};
  if (stat(folder.c_str(), &about) != 0) {
    return NotFound(location, ": ", std::strerror(errno), "; expected the folder of a run");
  }
  if (!S_ISDIR(about.st_mode)) {
    return InvalidArgument(location, ": expected the folder of a run, found a file; a single ",
                           "checkpoint is shown by tessera ls");
  }
  TESSERA_ASSIGN_OR_RETURN(const auto store, store::OpenFileStore(folder, {.create_root = false}));
  return steps::ReadCatalogue(*store, "", steps::LatestBy::kStep, context.stop());
}

OrderedJson JsonOf(const std::string& folder, const StepInfo& step) {
  OrderedJson json;
  json["step"] = step.step ? OrderedJson(*step.step) : OrderedJson();
  json["path"] = PathOf(folder, step);
  json["committed"] = step.committed;
  json["temporary"] = step.temporary;
  json["bytes"] = step.bytes;
  json["timestamp"] = step.timestamp.empty() ? OrderedJson() : OrderedJson(step.timestamp);
  json["state"] = StateOf(step);
  if (!step.problem.empty()) json["problem"] = step.problem;
  return json;
}

OrderedJson JsonOf(const std::string& folder, const Catalogue& catalogue) {
  OrderedJson json = {
      {"steps", OrderedJson::array()}, {"latest", nullptr}, {"latest_path", nullptr}};
  for (const StepInfo& step : catalogue.steps) json["steps"].push_back(JsonOf(folder, step));
  if (!catalogue.latest) return json;
  const StepInfo& latest = catalogue.steps[*catalogue.latest];
  if (latest.step.has_value()) json["latest"] = *latest.step;
  json["latest_path"] = PathOf(folder, latest);
  return json;
}

Table TableOf(const std::string& folder, const Catalogue& catalogue, const Terminal& terminal) {
  Table table({{.title = "STEP", .align = Align::kRight},
               {.title = "STATE"},
               {.title = "SIZE", .align = Align::kRight, .dispensable = 1},
               {.title = "SAVED", .dispensable = 2},
               {.title = "PATH", .shrinks = true}});
  for (size_t i = 0; i < catalogue.steps.size(); ++i) {
    const StepInfo& step = catalogue.steps[i];
    const bool is_latest = catalogue.latest == i;
    const std::string state = Concat(StateOf(step), is_latest ? ", latest" : "");
    table.Add({step.step ? Concat(*step.step) : "-",
               is_latest        ? terminal.Green(state)
               : step.committed ? state
                                : terminal.Yellow(state),
               SizeText(static_cast<int64_t>(step.bytes)),
               step.timestamp.empty() ? "-" : Printable(step.timestamp, terminal),
               Printable(PathOf(folder, step), terminal)});
  }
  return table;
}

// The problems of metadata files, which do not fit in a table.
std::string ProblemLines(const Catalogue& catalogue, const Terminal& terminal) {
  const size_t width = ParagraphWidth(terminal);
  std::string text;
  for (const StepInfo& step : catalogue.steps) {
    if (step.problem.empty()) continue;
    text +=
        Wrapped(Printable(Concat(step.path, step.path.empty() ? "" : ": ", step.problem), terminal),
                2, width);
  }
  return text.empty() ? "" : Concat("\n", terminal.Yellow("problems:"), "\n", text);
}

absl::StatusOr<Answer> RunSteps(const Arguments& arguments, Context& context) {
  const std::string& folder = arguments.Positional(0);
  TESSERA_ASSIGN_OR_RETURN(const Catalogue catalogue, Read(folder, context));
  if (arguments.json()) {
    context.out().WriteJson(JsonOf(folder, catalogue));
    return Answer::kYes;
  }
  const Terminal& terminal = context.terminal();
  if (catalogue.steps.empty()) {
    context.out().Write(Wrapped(Concat("no checkpoints in ", Printable(folder, terminal)), 0,
                                ParagraphWidth(terminal)));
    return Answer::kYes;
  }
  context.out().Write(TableOf(folder, catalogue, terminal).Text(terminal));
  context.out().Write(ProblemLines(catalogue, terminal));
  return Answer::kYes;
}

}  // namespace

Verb StepsVerb() {
  return {.name = "steps",
          .summary = "the checkpoints of a run: which is the latest, which are unfinished",
          .positionals = {{"DIR", "the folder of a run"}},
          .details =
              "Listed are the folders run-<step>, others with a metadata.json, and the folder "
              "itself if it has one. A step is unfinished while it is saved, and when a save died "
              "in it; deleting, when it is to be gone. Temporary ones may be replaced by the run "
              "that wrote them.",
          .examples = {{"tessera steps runs/7b", "all of them"},
                       {"tessera steps runs/7b --json | jq -r .latest_path",
                        "the path of the latest, for other verbs"}},
          .run = RunSteps};
}

}  // namespace tessera::cli
