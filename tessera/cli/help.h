// What --help says.
#ifndef TESSERA_CLI_HELP_H_
#define TESSERA_CLI_HELP_H_

#include <span>
#include <string>

#include "tessera/cli/terminal.h"
#include "tessera/cli/verb.h"

namespace tessera::cli {

// "tessera ls CKPT [--match RE] [--all]".
std::string UsageLine(const Verb& verb);

// All verbs, a line each.
std::string Overview(std::span<const Verb> verbs, const Terminal& terminal);

// Usage, details, options and examples of one.
std::string HelpText(const Verb& verb, const Terminal& terminal);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_HELP_H_
