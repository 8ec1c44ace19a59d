#include <mpi.h>

#include <string>

#include "tessera/comm/mpi.h"
#include "tessera/comm/mpi_state.h"
#include "tessera/core/log.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

// Whether all ranks come to the end within a time that a program which failed can wait.
bool AllComeToTheEnd(MPI_Comm comm) {
  constexpr std::chrono::seconds kPatience(5);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(comm, &request) != MPI_SUCCESS) return false;
  for (Pause pause(std::chrono::milliseconds(5));; pause.Sleep()) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
}

absl::Status Initialize(MpiState& state) {
  TESSERA_RETURN_IF_ERROR(
      MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &state.thread_level),
                "MPI_Init_thread"));
  state.owned = true;
  TESSERA_RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, &state.farewell), "MPI_Comm_dup"));
  return MpiStatus(MPI_Comm_set_errhandler(state.farewell, MPI_ERRORS_RETURN),
                   "MPI_Comm_set_errhandler");
}

}  // namespace

absl::Status MpiStatus(int code, std::string_view function) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return Internal(function, ": ", std::string_view(text, static_cast<size_t>(length)),
                  " (MPI error ", code, ")");
}

absl::StatusOr<std::unique_ptr<MpiSession>> MpiSession::Open() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0) return FailedPrecondition("MPI was finalised; it cannot begin again");
  auto state = std::make_shared<MpiState>();
  if (initialized == 0) {
    TESSERA_RETURN_IF_ERROR(Initialize(*state));
  } else {
    MPI_Query_thread(&state->thread_level);
  }
  return std::unique_ptr<MpiSession>(new MpiSession(std::move(state)));
}

MpiSession::~MpiSession() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!state_->owned || finalized != 0) return;
  if (state_->holds_memory) {
    LogWarning("MPI is not finalised: it holds memory of a call that failed");
    return;
  }
  if (state_->unclean && !AllComeToTheEnd(state_->farewell)) {
    LogWarning("MPI is not finalised: a call failed, and not every rank has come to the end");
    return;
  }
  MPI_Comm_free(&state_->farewell);
  MPI_Finalize();
}

}  // namespace tessera::comm
