// tessera verify
#include <string>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/conversion.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

using checkpoint::VerifyProblem;
using checkpoint::VerifyReport;

std::string ArraysText(int64_t count) {
  return Concat(CountText(count), count == 1 ? " array" : " arrays");
}

std::string ProblemLine(const VerifyProblem& problem, const Terminal& terminal) {
  std::string text = Concat(terminal.Red("damaged"), "  ");
  if (!problem.key.empty()) text += Concat(Printable(problem.key, terminal), "  ");
  return text +
         Concat(Printable(problem.file, terminal), ": ", Printable(problem.problem, terminal));
}

std::string VouchedText(const VerifyReport& report, bool quick) {
  std::string text;
  const auto add = [&](int64_t count, std::string_view who) {
    if (count > 0) text += Concat(text.empty() ? "" : "; ", ArraysText(count), " ", who);
  };
  add(report.manifest_arrays(), "by the manifest of the save");
  add(report.seal_arrays, "by a seal");
  add(report.unsealed_arrays,
      quick ? "by nobody: all that can be told is that their files are there"
            : "by nobody: all that can be told is that they decode; tessera seal vouches from now "
              "on");
  return text;
}

std::string SummaryText(const VerifyReport& report, bool quick, const Terminal& terminal) {
  const size_t problems = report.problems.size();
  std::string text = report.ok() ? terminal.Green("ok")
                                 : terminal.Red(Concat(CountText(static_cast<int64_t>(problems)),
                                                       problems == 1 ? " problem" : " problems"));
  text += Concat(": ", ArraysText(report.arrays), ", ", CountText(report.chunks),
                 report.chunks == 1 ? " chunk" : " chunks");
  text +=
      quick ? std::string(", names and sizes only") : Concat(", ", SizeText(report.bytes), " read");
  if (report.absent_chunks > 0) {
    text += Concat(", ", CountText(report.absent_chunks), " chunks left out as the format allows");
  }
  return Concat(text, "\nvouched for: ", VouchedText(report, quick), "\n");
}

absl::StatusOr<Answer> RunVerify(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::Location location,
                           checkpoint::OpenLocation(arguments.Positional(0)));
  const bool quick = arguments.Has("--quick");
  VerifyReport report;
  {
    ProgressLine line = context.Progress(ShareText("verifying", context));
    TESSERA_ASSIGN_OR_RETURN(
        report,
        checkpoint::VerifyCheckpoint(*location.store, context.io(),
                                     {.quick = quick,
                                      .file = location.file,
                                      .progress =
                                          [&](int64_t done, int64_t total) {
                                            line.Update({.bytes_done = done, .bytes_total = total});
                                          },
                                      .comm = context.other_ranks()},
                                     context.stop()));
  }
  const Answer answer = report.ok() ? Answer::kYes : Answer::kNo;
  if (arguments.json()) {
    context.out().WriteJson(ToJson(report));
    return answer;
  }
  for (const VerifyProblem& problem : report.problems) {
    context.out().WriteLine(ProblemLine(problem, context.terminal()));
  }
  context.out().Write(SummaryText(report, quick, context.terminal()));
  return answer;
}

}  // namespace

Verb VerifyVerb() {
  return {.name = "verify",
          .summary = "whether every array is complete and undamaged",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {{.name = "--quick", .help = "names and sizes only, no array is read"}},
          .details =
              "Every stored byte is held against the manifest that the save wrote, or the seal "
              "that tessera seal wrote later. Where there is neither, every chunk is decoded, and "
              "safetensors files must have a good header and all of their bytes.\n\n"
              "The exit code is 0 when all is well, 1 when something is damaged or missing, and 2 "
              "when it could not be looked at. Under mpirun every rank reads its share.",
          .examples = {{"tessera verify run-1000", "reads everything"},
                       {"tessera verify run-1000 --quick", "looks at names and sizes only"},
                       {"mpirun -n 8 tessera verify run-1000 --json", "eight ranks, for a script"}},
          .run = RunVerify};
}

}  // namespace tessera::cli
