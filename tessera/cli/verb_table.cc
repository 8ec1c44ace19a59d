// All verbs in the order of help: look, trust, change, plan, and the rest.
#include "tessera/cli/verbs.h"

namespace tessera::cli {

std::vector<Verb> AllVerbs() {
  return {
      LsVerb(),     InfoVerb(),   StatVerb(),    CatVerb(),        HashVerb(), DiffVerb(),
      VerifyVerb(), SealVerb(),   ConvertVerb(), RechunkVerb(),    PlanVerb(), LintVerb(),
      StepsVerb(),  DoctorVerb(), VersionVerb(), CompletionVerb(), ManVerb(),  CompleteKeysVerb(),
  };
}

}  // namespace tessera::cli
