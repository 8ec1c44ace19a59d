#include <mpi.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tessera/comm/mpi.h"
#include "tessera/comm/mpi_notices.h"
#include "tessera/comm/mpi_requests.h"
#include "tessera/comm/mpi_state.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Waiting for ranks may last minutes; moving data needs MPI to be called often.
constexpr std::chrono::milliseconds kMeetingPause(1);
constexpr std::chrono::microseconds kMovingPause(50);

// Whose memory an operation uses.
enum class Memory { kOwn, kCallers };

// What Meet and Swap look like to MPI.  If a call fails it lives on for as long as the process,
// since MPI cannot be made to forget a collective operation that has begun.
struct Board {
  Mark mark;
  std::vector<Mark> marks;
  std::vector<int64_t> out;
  std::vector<int64_t> in;
};

bool IsFinalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

class MpiEngine final : public Engine {
 public:
  MpiEngine(std::shared_ptr<MpiState> state, const MpiOptions& options, MPI_Comm data,
            MPI_Comm control, int rank, int size)
      : state_(std::move(state)),
        options_(options),
        data_(data),
        control_(control),
        rank_(rank),
        size_(size),
        notices_(control, rank, size),
        board_(std::make_unique<Board>()) {}

  ~MpiEngine() override {
    if (!IsFinalized() && !state_->holds_memory && Close()) {
      MPI_Comm_free(&data_);
      MPI_Comm_free(&control_);
      return;
    }
    state_->unclean = true;
    board_.release();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::StatusOr<std::vector<Mark>> Meet(const Call& call, const Mark& mine) override {
    TESSERA_RETURN_IF_ERROR(CheckUsable(call));
    board_->mark = mine;
    board_->marks.resize(static_cast<size_t>(size_));
    MpiRequests requests;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Iallgather(&board_->mark, sizeof(Mark), MPI_BYTE, board_->marks.data(),
                                    sizeof(Mark), MPI_BYTE, data_, &request);
    const auto begun = requests.Add(code, "MPI_Iallgather", request, MpiRequests::kAllRanks);
    TESSERA_RETURN_IF_ERROR(Complete(call, begun, requests, Memory::kOwn));
    return board_->marks;
  }

  absl::StatusOr<std::vector<int64_t>> Swap(const Call& call,
                                            std::vector<int64_t> values) override {
    board_->out = std::move(values);
    board_->in.resize(static_cast<size_t>(size_));
    MpiRequests requests;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Ialltoall(board_->out.data(), 1, MPI_INT64_T, board_->in.data(), 1,
                                   MPI_INT64_T, data_, &request);
    const auto begun = requests.Add(code, "MPI_Ialltoall", request, MpiRequests::kAllRanks);
    TESSERA_RETURN_IF_ERROR(Complete(call, begun, requests, Memory::kOwn));
    return board_->in;
  }

  absl::Status Move(const Call& call, std::span<const Send> sends,
                    std::span<const Receive> receives) override {
    MpiRequests requests;
    absl::Status begun;
    // Receives first: what comes then goes to its place at once.
    for (size_t i = 0; i < receives.size() && begun.ok(); ++i) {
      begun = requests.AddReceive(data_, receives[i], block());
    }
    for (size_t i = 0; i < sends.size() && begun.ok(); ++i) {
      begun = requests.AddSend(data_, sends[i], block());
    }
    return Complete(call, begun, requests, Memory::kCallers);
  }

  absl::Status Spread(const Call& call, int root, std::span<const std::byte> out,
                      std::span<std::byte> in) override {
    // Only read on the root, whatever the type says: MPI takes one pointer for both roles.
    auto* const own = const_cast<std::byte*>(out.data());
    const std::span<std::byte> bytes = rank_ == root ? std::span(own, out.size()) : in;
    MpiRequests requests;
    const absl::Status begun = requests.AddBroadcast(data_, root, bytes, block());
    return Complete(call, begun, requests, Memory::kCallers);
  }

  void Abort(int64_t index, const absl::Status& why) override {
    if (IsFinalized() || state_->holds_memory) return;
    notices_.Tell({index, rank_, false, why});
  }

 private:
  size_t block() const { return static_cast<size_t>(options_.block_bytes); }

  absl::Status CheckUsable(const Call& call) const {
    if (IsFinalized()) return FailedPrecondition(call.Text(), ": MPI was finalised");
    if (state_->holds_memory) {
      return FailedPrecondition(call.Text(),
                                ": MPI holds memory of a call that failed; end the program");
    }
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    if (state_->thread_level < MPI_THREAD_SERIALIZED && is_main == 0) {
      return FailedPrecondition(call.Text(), ": MPI was initialised for calls of the main thread");
    }
    return absl::OkStatus();
  }

  // Waits until all requests are completed; `begun` tells whether all of them could be begun.
  absl::Status Complete(const Call& call, const absl::Status& begun, MpiRequests& requests,
                        Memory memory) {
    Pause pause(memory == Memory::kOwn ? nanoseconds(kMeetingPause) : nanoseconds(kMovingPause));
    absl::Status error = begun;
    while (error.ok()) {
      const auto completed = requests.Test();
      if (completed.ok() && requests.done()) return absl::OkStatus();
      error = completed.ok() ? notices_.Poll() : completed.status();
      if (!error.ok()) break;
      if (const Notice* notice = notices_.For(call.index)) {
        return Follow(call, *notice, requests, memory);
      }
      if (call.stop.stop_requested()) {
        return GiveUp(call, Cancelled(call.Text(), ": stopped"), requests, memory);
      }
      if (steady_clock::now() >= call.deadline) return TooLate(call, requests, memory);
      if (*completed > 0) pause.Reset();
      pause.Sleep();
    }
    return GiveUp(call, Prefixed(error, call.Text()), requests, memory);
  }

  absl::Status GiveUp(const Call& call, const absl::Status& why, MpiRequests& requests,
                      Memory memory) {
    notices_.Tell({call.index, rank_, true, why});
    Withdraw(requests, memory);
    return why;
  }

  // Fails as another rank has failed.
  absl::Status Follow(const Call& call, Notice notice, MpiRequests& requests, Memory memory) {
    notices_.Tell({call.index, notice.origin, true, notice.why});
    const std::string origin = Concat("rank ", notice.origin);
    std::string missing;
    if (notice.why.code() == absl::StatusCode::kDeadlineExceeded) {
      missing = Missing(requests, memory);
    }
    Withdraw(requests, memory);
    if (missing.empty()) return Prefixed(notice.why, origin);
    return absl::DeadlineExceededError(
        Concat(call.Text(), ": ", missing, " before ", origin, " gave up"));
  }

  absl::Status TooLate(const Call& call, MpiRequests& requests, Memory memory) {
    const std::string time =
        Concat(" within ", std::chrono::duration<double>(call.timeout).count(), " s");
    const auto late = absl::DeadlineExceededError(Concat(call.Text(), ": not complete", time));
    notices_.Tell({call.index, rank_, true, late});
    const std::string missing = Missing(requests, memory);
    Withdraw(requests, memory);
    if (missing.empty()) return late;
    return absl::DeadlineExceededError(Concat(call.Text(), ": ", missing, time));
  }

  // Tells of the ranks that say nothing though they were told that the call has failed; empty when
  // there are none.  A rank that waits answers at once, one that is busy elsewhere or dead does
  // not.
  std::string Missing(MpiRequests& requests, Memory memory) {
    AwaitNotices(options_.grace, requests);
    std::vector<int> silent;
    for (int rank = 0; rank < size_; ++rank) {
      const bool heard = notices_.heard()[static_cast<size_t>(rank)].has_value();
      if (rank != rank_ && !heard) silent.push_back(rank);
    }
    // While data moves, a rank that has done its part may be silent, too.
    const std::vector<int> open = requests.open_peers();
    if (!open.empty()) {
      std::erase_if(silent,
                    [&](int rank) { return !std::binary_search(open.begin(), open.end(), rank); });
    }
    if (silent.empty()) return {};
    return RanksText(silent) + (memory == Memory::kOwn ? " did not come" : " did not answer");
  }

  void AwaitNotices(nanoseconds timeout, MpiRequests& requests) {
    const auto deadline = steady_clock::now() + timeout;
    for (Pause pause(kMeetingPause); !notices_.heard_all(); pause.Sleep()) {
      if (!notices_.Poll().ok() || steady_clock::now() >= deadline) return;
      requests.Test().IgnoreError();
    }
  }

  // Takes back what has not been completed.  What has been matched still completes while the other
  // rank is there; what remains after that may be read or written by MPI at any later time.
  void Withdraw(MpiRequests& requests, Memory memory) {
    unfinished_ = true;
    if (memory == Memory::kOwn) return;  // stays where it is
    requests.CancelReceives();
    const auto deadline = steady_clock::now() + options_.grace;
    for (Pause pause(kMovingPause); requests.Test().ok() && !requests.done(); pause.Sleep()) {
      if (steady_clock::now() >= deadline) break;
    }
    if (!requests.done()) state_->holds_memory = true;
  }

  // True when nothing is on its way any more, so that the communicators can be freed: MPI may give
  // their place to the next one, which must not find old messages there.
  bool Close() {
    if (unfinished_) return false;
    MpiRequests none;
    AwaitNotices(options_.close_timeout, none);
    if (!notices_.heard_all() || !notices_.delivered()) return false;
    return std::none_of(notices_.heard().begin(), notices_.heard().end(), [](const auto& notice) {
      return notice.has_value() && notice->unfinished;
    });
  }

  const std::shared_ptr<MpiState> state_;
  const MpiOptions options_;
  MPI_Comm data_;
  MPI_Comm control_;
  const int rank_;
  const int size_;
  MpiNotices notices_;
  bool unfinished_ = false;  // a call failed here
  std::unique_ptr<Board> board_;
};

absl::StatusOr<MPI_Comm> Duplicate(MPI_Comm parent) {
  MPI_Comm own = MPI_COMM_NULL;
  TESSERA_RETURN_IF_ERROR(MpiStatus(MPI_Comm_dup(parent, &own), "MPI_Comm_dup"));
  TESSERA_RETURN_IF_ERROR(
      MpiStatus(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  return own;
}

absl::Status CheckBlockBytes(MPI_Comm comm, int64_t mine) {
  int64_t bounds[2] = {mine, -mine};
  TESSERA_RETURN_IF_ERROR(MpiStatus(
      MPI_Allreduce(MPI_IN_PLACE, bounds, 2, MPI_INT64_T, MPI_MIN, comm), "MPI_Allreduce"));
  const int64_t least = bounds[0];
  const int64_t most = -bounds[1];
  if (least < 1 || most > std::numeric_limits<int>::max()) {
    return InvalidArgument("block_bytes is from ", least, " to ", most, ", expected 1 to ",
                           std::numeric_limits<int>::max());
  }
  if (least != most) {
    return InvalidArgument("block_bytes is ", least, " on one rank and ", most, " on another");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Comm>> OpenMpi(MpiSession& session, const MpiOptions& options) {
  if (IsFinalized()) return FailedPrecondition("MPI was finalised");
  const MPI_Comm parent = options.parent ? MPI_Comm_f2c(*options.parent) : MPI_COMM_WORLD;
  if (parent == MPI_COMM_NULL) return InvalidArgument("the parent is no communicator");
  TESSERA_ASSIGN_OR_RETURN(MPI_Comm data, Duplicate(parent));
  TESSERA_ASSIGN_OR_RETURN(MPI_Comm control, Duplicate(parent));
  if (const absl::Status status = CheckBlockBytes(data, options.block_bytes); !status.ok()) {
    MPI_Comm_free(&data);
    MPI_Comm_free(&control);
    return status;
  }
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(data, &rank);
  MPI_Comm_size(data, &size);
  return std::make_unique<Comm>(
      std::make_unique<MpiEngine>(session.state_, options, data, control, rank, size));
}

}  // namespace tessera::comm
