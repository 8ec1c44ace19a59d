// Context: what a verb works with.  main makes one and lends it.
#ifndef TESSERA_CLI_CONTEXT_H_
#define TESSERA_CLI_CONTEXT_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tessera/cli/output.h"
#include "tessera/cli/progress.h"
#include "tessera/cli/terminal.h"
#include "tessera/comm/comm.h"
#include "tessera/core/io_context.h"

namespace tessera::cli {

class Context {
 public:
  struct Parts {
    int out = 1;  // file descriptors
    int err = 2;
    std::unique_ptr<comm::Comm> comm = nullptr;  // nullptr: alone
    std::stop_token stop = {};                   // requested by Ctrl-C
    bool quiet = false;
    int64_t memory = int64_t{1} << 30;  // of io()
  };
  explicit Context(Parts parts);

  // Of the first rank; the others' go nowhere.
  Output& out() { return out_; }
  const Terminal& terminal() const { return terminal_; }  // of out()
  // A line on stderr that is no error.
  void Note(std::string_view text);
  ProgressLine Progress(std::string_view what);

  // Threads by TESSERA_THREADS, memory by TESSERA_MEMORY; made at the first call, as threads cost
  // time to start.
  IoContext& io();
  // For verbs that are told how much memory to use.  REQUIRES: io() was not called.
  void set_memory(int64_t bytes) { parts_.memory = bytes; }

  comm::Comm& comm() { return *parts_.comm; }
  // For work that is shared by ranks: nullptr when there is only this one.
  comm::Comm* other_ranks() { return ranks() == 1 ? nullptr : parts_.comm.get(); }
  bool is_first_rank() const { return parts_.comm->rank() == 0; }
  int ranks() const { return parts_.comm->size(); }
  std::stop_token stop() const { return parts_.stop; }

 private:
  Parts parts_;
  Output out_;
  Terminal terminal_;
  Terminal err_terminal_;
  std::optional<IoContext> io_;
};

// TESSERA_MEMORY as a size; 1 GiB when it is not set.  InvalidArgument for other text.
absl::StatusOr<int64_t> MemoryOfEnvironment();

}  // namespace tessera::cli

#endif  // TESSERA_CLI_CONTEXT_H_
