// tessera lint
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/mesh_options.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/explain/lint.h"

namespace tessera::cli {
namespace {

using explain::LintProblem;
using Problems = std::vector<LintProblem>;
using Rules = std::vector<mesh::PartitionRule>;

OrderedJson JsonOf(const LintProblem& problem, const Rules& rules) {
  OrderedJson rule;
  OrderedJson rule_index;
  if (problem.rule.has_value()) {
    rule = rules[*problem.rule].pattern;
    rule_index = *problem.rule;
  }
  return {{"kind", problem.kind},
          {"rule", std::move(rule)},
          {"key", problem.keys.empty() ? OrderedJson() : OrderedJson(problem.keys[0])},
          {"detail", problem.detail},
          {"rule_index", std::move(rule_index)},
          {"suggestion", problem.suggestion},
          {"note", problem.is_note()},
          {"keys", problem.keys}};
}

void WriteText(const Problems& problems, const Rules& rules, size_t arrays, Context& context) {
  const Terminal& terminal = context.terminal();
  size_t notes = 0;
  for (const LintProblem& problem : problems) {
    notes += problem.is_note() ? 1 : 0;
    std::string text = problem.detail;
    if (problem.rule.has_value()) {
      text = Concat("rule ", *problem.rule, " ", Quoted(rules[*problem.rule].pattern), ": ", text);
    }
    if (!problem.suggestion.empty()) text += Concat("; ", problem.suggestion);
    const std::string kind = Concat(problem.kind, ":");
    context.out().WriteLine(Concat(problem.is_note() ? terminal.Cyan(kind) : terminal.Yellow(kind),
                                   " ", Printable(text, terminal)));
  }
  const size_t wrong = problems.size() - notes;
  const std::string total =
      Concat(wrong == 0 ? "no problems" : Concat(wrong, wrong == 1 ? " problem" : " problems"),
             notes == 0 ? "" : Concat(", ", notes, notes == 1 ? " note" : " notes"), ": ",
             rules.size(), rules.size() == 1 ? " rule, " : " rules, ",
             CountText(static_cast<int64_t>(arrays)), arrays == 1 ? " array" : " arrays");
  context.out().WriteLine(wrong == 0 ? terminal.Green(total) : terminal.Bold(total));
}

absl::StatusOr<Answer> RunLint(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const Rules rules, RulesOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(const auto mesh, MeshOf(arguments));
  TESSERA_ASSIGN_OR_RETURN(
      const checkpoint::Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kMetadata));
  const std::vector<explain::LintArray> arrays = explain::LintArrays(checkpoint);
  TESSERA_ASSIGN_OR_RETURN(const Problems problems, explain::Lint(arrays, rules, mesh));
  if (arguments.json()) {
    OrderedJson list = OrderedJson::array();
    for (const LintProblem& problem : problems) list.push_back(JsonOf(problem, rules));
    context.out().WriteJson({{"problems", std::move(list)}});
  } else {
    WriteText(problems, rules, arrays.size(), context);
  }
  const bool fine = std::all_of(problems.begin(), problems.end(),
                                [](const LintProblem& problem) { return problem.is_note(); });
  return fine ? Answer::kYes : Answer::kNo;
}

}  // namespace

Verb LintVerb() {
  return {.name = "lint",
          .summary = "what is wrong with partition rules, all of it",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {RulesOption(), MeshOption(), PrefixOption()},
          .details =
              "Rules that match nothing or come too late, keys that no rule takes, specs that are "
              "too long for an array; with --mesh also axes that it lacks or that do not divide. "
              "Large arrays that are whole on every device are a note. Exit code 1 when there is "
              "a problem other than a note. No array is read.",
          .examples = {{"tessera lint run-1000 --rules rules.yaml", "what needs no mesh"},
                       {"tessera lint run-1000 --rules rules.yaml --mesh dp=2,tp=4", "everything"}},
          .run = RunLint};
}

}  // namespace tessera::cli
