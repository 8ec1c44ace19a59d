#include "tessera/comm/mpi_requests.h"

#include <algorithm>

#include "tessera/comm/mpi_state.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

// MPI keeps messages of one tag between two ranks in order, which is all the matching needed.
constexpr int kTag = 0;

// Calls `begin` for each block of `bytes`, until one fails.
template <typename Byte, typename Begin>
absl::Status ForEachBlock(std::span<Byte> bytes, size_t block, const Begin& begin) {
  for (size_t offset = 0; offset < bytes.size(); offset += block) {
    TESSERA_RETURN_IF_ERROR(begin(bytes.subspan(offset, std::min(block, bytes.size() - offset))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MpiRequests::Add(int code, std::string_view function, MPI_Request request, int peer) {
  TESSERA_RETURN_IF_ERROR(MpiStatus(code, function));
  requests_.push_back(request);
  peers_.push_back(peer);
  ++open_;
  return absl::OkStatus();
}

absl::Status MpiRequests::AddSend(MPI_Comm comm, const Send& send, size_t block) {
  return ForEachBlock(send.bytes, block, [&](std::span<const std::byte> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, send.to,
                               kTag, comm, &request);
    return Add(code, "MPI_Isend", request, send.to);
  });
}

absl::Status MpiRequests::AddReceive(MPI_Comm comm, const Receive& receive, size_t block) {
  return ForEachBlock(receive.bytes, block, [&](std::span<std::byte> bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, receive.from,
                               kTag, comm, &request);
    receives_.push_back(requests_.size());
    return Add(code, "MPI_Irecv", request, receive.from);
  });
}

absl::Status MpiRequests::AddBroadcast(MPI_Comm comm, int root, std::span<std::byte> bytes,
                                       size_t block) {
  return ForEachBlock(bytes, block, [&](std::span<std::byte> part) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        MPI_Ibcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm, &request);
    return Add(code, "MPI_Ibcast", request, kAllRanks);
  });
}

absl::StatusOr<int> MpiRequests::Test() {
  if (open_ == 0) return 0;
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                completed_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) {
      const int peer = peers_[static_cast<size_t>(completed_[static_cast<size_t>(i)])];
      const absl::Status status =
          MpiStatus(statuses_[static_cast<size_t>(i)].MPI_ERROR, "transfer");
      if (status.ok()) continue;
      return peer == kAllRanks ? status : Prefixed(status, Concat("with rank ", peer));
    }
  }
  TESSERA_RETURN_IF_ERROR(MpiStatus(code, "MPI_Testsome"));
  open_ = count == MPI_UNDEFINED ? 0 : open_ - static_cast<size_t>(count);
  return count;
}

std::vector<int> MpiRequests::open_peers() const {
  std::vector<int> peers;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] != MPI_REQUEST_NULL && peers_[i] != kAllRanks) peers.push_back(peers_[i]);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

void MpiRequests::CancelReceives() {
  for (const size_t i : receives_) {
    if (requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
  }
}

}  // namespace tessera::comm
