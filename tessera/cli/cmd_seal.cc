// tessera seal
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/checkpoint/open_location.h"
#include "tessera/checkpoint/verify.h"
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/conversion.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

using checkpoint::SealReport;

absl::StatusOr<SealReport> Seal(const std::string& path, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const checkpoint::Location location, checkpoint::OpenLocation(path));
  ProgressLine line = context.Progress("sealing");
  return checkpoint::SealCheckpoint(
      *location.store, context.io(),
      {.file = location.file,
       .progress = [&](int64_t done,
                       int64_t total) { line.Update({.bytes_done = done, .bytes_total = total}); }},
      context.stop());
}

// What a list is called: a prefix, or the name of a file.
std::string NamesText(const std::vector<std::string>& names, const Terminal& terminal) {
  std::string text;
  for (const std::string& name : names) {
    text += Concat(text.empty() ? "" : ", ",
                   name.empty() ? "the arrays" : Printable(Quoted(name), terminal));
  }
  return text;
}

std::string Text(const SealReport& report, const Terminal& terminal) {
  std::string text;
  if (!report.sealed.empty()) {
    text += Concat("sealed ", NamesText(report.sealed, terminal), ": ", CountText(report.chunks),
                   report.chunks == 1 ? " chunk, " : " chunks, ", SizeText(report.bytes), "\n");
  }
  if (!report.replaced.empty()) {
    text += Concat("the manifest of the save does not hold any more for ",
                   NamesText(report.replaced, terminal), "; the seal counts from now on\n");
  }
  if (!report.had_seal.empty()) {
    text += Concat("the manifest of the save holds for ", NamesText(report.had_seal, terminal),
                   "; nothing was written there\n");
  }
  return text;
}

absl::StatusOr<Answer> RunSeal(const Arguments& arguments, Context& context) {
  // One rank writes, so one rank reads.
  absl::StatusOr<SealReport> report = SealReport();
  if (context.is_first_rank()) report = Seal(arguments.Positional(0), context);
  if (context.other_ranks() == nullptr) TESSERA_RETURN_IF_ERROR(report.status());
  TESSERA_RETURN_IF_ERROR(context.comm().Agree(report.status(), WholeWork()));
  if (arguments.json()) {
    context.out().WriteJson(OrderedJson{{"chunks", report->chunks},
                                        {"bytes", report->bytes},
                                        {"sealed", report->sealed},
                                        {"had_manifest", report->had_seal},
                                        {"replaced", report->replaced}});
  } else {
    context.out().Write(Text(*report, context.terminal()));
  }
  return Answer::kYes;
}

}  // namespace

Verb SealVerb() {
  return {.name = "seal",
          .summary = "writes down sizes and hashes, so that later damage is found",
          .positionals = {{"CKPT", "a folder or a file"}},
          .details =
              "For a checkpoint that another program made. Everything is decoded first, and what "
              "is damaged is not sealed. The seal lies in .tessera/seals beside the arrays; no "
              "other file is touched. A manifest of a save of ours that still holds is left as it "
              "is. Seal only what is known to be right.",
          .examples = {{"tessera seal model.safetensors", "vouches for a file from now on"}},
          .run = RunSeal};
}

}  // namespace tessera::cli
