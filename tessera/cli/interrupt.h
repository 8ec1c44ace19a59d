// Ctrl-C as a stop token.
#ifndef TESSERA_CLI_INTERRUPT_H_
#define TESSERA_CLI_INTERRUPT_H_

#include <stop_token>

namespace tessera::cli {

// From now on the first SIGINT, SIGTERM or SIGHUP requests the stop and leaves the program to end
// in order; a second one ends it at once.  To be called once, before any thread is started.
std::stop_token StopOnInterrupt();

}  // namespace tessera::cli

#endif  // TESSERA_CLI_INTERRUPT_H_
