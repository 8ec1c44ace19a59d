// tessera man
#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/man_page.h"
#include "tessera/cli/verbs.h"

namespace tessera::cli {
namespace {

absl::StatusOr<Answer> RunMan(const Arguments&, Context& context) {
  context.out().Write(ManPage(AllVerbs(), TESSERA_VERSION));
  return Answer::kYes;
}

}  // namespace

Verb ManVerb() {
  return {.name = "man",
          .summary = "the manual page, as its source",
          .details = "An installed tessera brings it along: man tessera.",
          .examples = {{"tessera man | man -l -", "the manual page, from this very program"}},
          .run = RunMan};
}

}  // namespace tessera::cli
