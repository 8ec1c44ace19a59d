#include "tessera/comm/mpi_notices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/comm/agreement.h"
#include "tessera/comm/mpi_state.h"
#include "tessera/core/bytes.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

constexpr int kTag = 1;

// The fixed part of a notice on its way.  All hosts of a program have the same byte order.
struct Head {
  int64_t index;
  int32_t origin;
  int32_t unfinished;
};

// MPI sends so little at once, without waiting for the receiver.
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxNotice = sizeof(Head) + kMaxMessage + 16;

std::vector<std::byte> Encode(const Notice& notice) {
  const Head head = {notice.index, notice.origin, notice.unfinished ? 1 : 0};
  const Bytes why = EncodeStatus(notice.why, kMaxMessage);
  std::vector<std::byte> bytes(sizeof(Head) + why.size());
  std::memcpy(bytes.data(), &head, sizeof(Head));
  std::memcpy(bytes.data() + sizeof(Head), why.data(), why.size());
  return bytes;
}

absl::StatusOr<Notice> Decode(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof(Head)) {
    return Internal("a notice of ", bytes.size(), " bytes came, at least ", sizeof(Head),
                    " expected");
  }
  std::memcpy(&head, bytes.data(), sizeof(Head));
  return Notice{head.index, head.origin, head.unfinished != 0,
                DecodeStatus(bytes.subspan(sizeof(Head)))};
}

bool IsCause(const Notice& notice) {
  return notice.why.code() != absl::StatusCode::kDeadlineExceeded;
}

}  // namespace

// What MPI still reads while it sends.
struct MpiNotices::Letter {
  std::vector<std::byte> bytes = {};
  std::vector<MPI_Request> requests = {};
  bool delivered = false;
};

MpiNotices::MpiNotices(MPI_Comm comm, int rank, int size)
    : comm_(comm), rank_(rank), heard_(static_cast<size_t>(size)) {}

MpiNotices::~MpiNotices() {
  // MPI may read the letter for as long as the process lives, so then it must live as long, too.
  if (letter_ != nullptr && !letter_->delivered) letter_.release();
}

void MpiNotices::Tell(const Notice& notice) {
  if (told()) return;
  letter_ = std::make_unique<Letter>(Letter{Encode(notice)});
  for (int to = 0; to < static_cast<int>(heard_.size()); ++to) {
    if (to == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(letter_->bytes.data(), static_cast<int>(letter_->bytes.size()),
                               MPI_BYTE, to, kTag, comm_, &request);
    // A rank that cannot be reached needs no notice.
    if (code == MPI_SUCCESS) letter_->requests.push_back(request);
  }
}

bool MpiNotices::delivered() {
  if (letter_ == nullptr || letter_->delivered) return true;
  int done = 0;
  const int code = MPI_Testall(static_cast<int>(letter_->requests.size()), letter_->requests.data(),
                               &done, MPI_STATUSES_IGNORE);
  letter_->delivered = code == MPI_SUCCESS && done != 0;
  return letter_->delivered;
}

absl::Status MpiNotices::Poll() {
  for (;;) {
    int there = 0;
    MPI_Status probed;
    TESSERA_RETURN_IF_ERROR(
        MpiStatus(MPI_Iprobe(MPI_ANY_SOURCE, kTag, comm_, &there, &probed), "MPI_Iprobe"));
    if (there == 0) return absl::OkStatus();
    TESSERA_RETURN_IF_ERROR(TakeIn(probed));
  }
}

absl::Status MpiNotices::TakeIn(const MPI_Status& probed) {
  std::array<std::byte, kMaxNotice> bytes;
  int size = 0;
  MPI_Get_count(&probed, MPI_BYTE, &size);
  // Does not block: the message has come.
  TESSERA_RETURN_IF_ERROR(MpiStatus(MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE,
                                             probed.MPI_SOURCE, kTag, comm_, MPI_STATUS_IGNORE),
                                    "MPI_Recv"));
  TESSERA_ASSIGN_OR_RETURN(Notice notice,
                           Decode(std::span(bytes).first(static_cast<size_t>(size))));
  heard_[static_cast<size_t>(probed.MPI_SOURCE)] = std::move(notice);
  return absl::OkStatus();
}

bool MpiNotices::heard_all() const {
  const auto others = std::count_if(heard_.begin(), heard_.end(),
                                    [](const auto& notice) { return notice.has_value(); });
  return static_cast<size_t>(others) + 1 == heard_.size();
}

const Notice* MpiNotices::For(int64_t index) const {
  const Notice* found = nullptr;
  for (const auto& notice : heard_) {
    if (!notice.has_value() || notice->index > index) continue;
    if (found == nullptr || (IsCause(*notice) && !IsCause(*found))) found = &*notice;
  }
  return found;
}

}  // namespace tessera::comm
