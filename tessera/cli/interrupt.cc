#include "tessera/cli/interrupt.h"

#include <pthread.h>

#include <csignal>
#include <thread>

namespace tessera::cli {
namespace {

// Waits for one of the signals, which all other threads leave to it, and asks for the end.
void WaitForSignal(sigset_t signals, std::stop_source stop) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0) return;
  stop.request_stop();
  // From here on they end the program as if nobody had asked for them.
  if (sigwait(&signals, &signal) != 0) return;
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  raise(signal);
}

}  // namespace

std::stop_token StopOnInterrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    // Who started us with a signal ignored, as nohup does, wants it to stay so.
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source stop;
  std::thread(WaitForSignal, signals, stop).detach();
  return stop.get_token();
}

}  // namespace tessera::cli
