// Scripts by which shells complete the words of the command, made from the table of verbs.
#ifndef TESSERA_CLI_COMPLETION_H_
#define TESSERA_CLI_COMPLETION_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/verb.h"

namespace tessera::cli {

// Both complete verbs, their options, what options may be set to, files, and the keys of arrays
// where a word is called KEY; these by running the hidden verb complete-keys.

// For `source <(tessera completion bash)`, or a file share/bash-completion/completions/tessera.
std::string BashCompletion(std::span<const Verb> verbs);

// For `source <(tessera completion zsh)`, or a file _tessera in a folder of $fpath.
std::string ZshCompletion(std::span<const Verb> verbs);

// How a key that begins with `typed` may go on: the whole keys where these are few, else their
// parts up to and with the next dot, as folders are.  Keys that a shell would want quoted are left
// out.  `keys` in any order; the result is in theirs.
std::vector<std::string> CompleteKeys(std::span<const std::string_view> keys,
                                      std::string_view typed);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_COMPLETION_H_
