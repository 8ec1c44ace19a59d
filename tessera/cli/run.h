// The command: words in, an exit code out.
#ifndef TESSERA_CLI_RUN_H_
#define TESSERA_CLI_RUN_H_

#include <span>
#include <stop_token>
#include <string>

namespace tessera::cli {

// `words` without the name of the program.
int Run(std::span<const std::string> words, std::stop_token stop);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_RUN_H_
