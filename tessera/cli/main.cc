#include <csignal>
#include <string>
#include <vector>

#include "tessera/cli/interrupt.h"
#include "tessera/cli/run.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is told by write(), and is no error
  const std::vector<std::string> words(argv + 1, argv + argc);
  return tessera::cli::Run(words, tessera::cli::StopOnInterrupt());
}
