// What tessera plan shows: an explanation as text and as JSON.
#ifndef TESSERA_CLI_PLAN_REPORT_H_
#define TESSERA_CLI_PLAN_REPORT_H_

#include <string>

#include "tessera/checkpoint/open.h"
#include "tessera/cli/output.h"
#include "tessera/cli/terminal.h"
#include "tessera/explain/explain_load.h"

namespace tessera::cli {

// A table of arrays, repeated layers folded unless `all`; devices, reads and warnings.
void WritePlanText(const checkpoint::Checkpoint& checkpoint,
                   const explain::LoadExplanation& explanation, bool all, const Terminal& terminal,
                   Output& out);

void WritePlanJson(const explain::LoadExplanation& explanation, Output& out);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_PLAN_REPORT_H_
