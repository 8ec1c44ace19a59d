// The verbs, each from its own file cmd_<verb>.cc.
#ifndef TESSERA_CLI_VERBS_H_
#define TESSERA_CLI_VERBS_H_

#include "tessera/cli/verb.h"

namespace tessera::cli {

Verb CatVerb();
Verb CompleteKeysVerb();
Verb CompletionVerb();
Verb ConvertVerb();
Verb DiffVerb();
Verb DoctorVerb();
Verb HashVerb();
Verb InfoVerb();
Verb LintVerb();
Verb LsVerb();
Verb ManVerb();
Verb PlanVerb();
Verb RechunkVerb();
Verb SealVerb();
Verb StatVerb();
Verb StepsVerb();
Verb VerifyVerb();
Verb VersionVerb();

}  // namespace tessera::cli

#endif  // TESSERA_CLI_VERBS_H_
