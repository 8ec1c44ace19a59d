// ToHost of an array whose shards are spread over the ranks of a program.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/array/convert_strided.h"
#include "tessera/array/gather_internal.h"
#include "tessera/array/place.h"
#include "tessera/array/to_host.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// A box that some ranks lack: who sends it, and who has it already.
struct Transfer {
  Box box;
  int owner = 0;
  std::vector<int> holders;
};

// The same list on every rank.
absl::StatusOr<std::vector<Transfer>> PlanTransfers(const ShardedArray& array) {
  TESSERA_ASSIGN_OR_RETURN(const auto placed, mesh::PlaceShards(array.sharding(), array.shape()));
  std::vector<Transfer> transfers;
  absl::flat_hash_map<Box, size_t> place;
  for (const mesh::DeviceShard& shard : placed) {
    const auto [found, fresh] = place.try_emplace(shard.box, transfers.size());
    if (fresh) transfers.push_back({shard.box, shard.device.process, {}});
    transfers[found->second].holders.push_back(shard.device.process);
  }
  return transfers;
}

absl::Status CheckProcesses(const std::vector<Transfer>& transfers,
                            const device::Platform& platform, const comm::Comm& comm) {
  if (platform.process() != comm.rank()) {
    return InvalidArgument("rank ", comm.rank(), " has the devices of process ",
                           platform.process());
  }
  for (const Transfer& transfer : transfers) {
    for (const int process : transfer.holders) {
      if (process >= 0 && process < comm.size()) continue;
      return InvalidArgument("box ", transfer.box.Text(), " lies in process ", process,
                             "; there are ", comm.size(), " ranks");
    }
  }
  return absl::OkStatus();
}

// Some transfers at once: what this rank sends and receives, and the memory for it.
class Round {
 public:
  Round(const ShardedArray& array, const device::Platform& platform, const HostTarget& target)
      : array_(array), platform_(platform), target_(target) {}

  absl::Status Add(const Transfer& transfer, const comm::Comm& comm) {
    const bool here = std::find(transfer.holders.begin(), transfer.holders.end(), comm.rank()) !=
                      transfer.holders.end();
    if (!here) return AddReceive(transfer);
    return transfer.owner == comm.rank() ? AddSends(transfer, comm.size()) : absl::OkStatus();
  }

  absl::Status Run(const absl::Status& prepared, comm::Comm& comm, const comm::Limit& limit) {
    TESSERA_RETURN_IF_ERROR(comm.Agree(prepared, limit));
    TESSERA_RETURN_IF_ERROR(comm.Exchange(sends_, receives_, limit));
    absl::Status first;
    for (const Arrival& arrival : arrivals_) {
      first.Update(ConvertStrided(array_.dtype(), arrival.staged, target_.dtype,
                                  SubView(target_.view, arrival.box)));
    }
    return first;
  }

 private:
  struct Arrival {
    Box box;
    ConstStridedView staged;
  };

  absl::StatusOr<StridedView> Stage(const Box& box) {
    TESSERA_ASSIGN_OR_RETURN(HostTarget staging,
                             AllocateTarget({box.shape(), array_.dtype()}, platform_, true));
    staging_.push_back(std::move(staging.owner));
    return staging.view;
  }

  static std::span<std::byte> BytesOf(const StridedView& dense) {
    return {dense.data, static_cast<size_t>(*NumElements(dense.shape) * dense.element_bytes)};
  }

  absl::Status AddReceive(const Transfer& transfer) {
    const StridedView direct = SubView(target_.view, transfer.box);
    if (target_.dtype == array_.dtype() && IsDense(AsConst(direct))) {
      receives_.push_back({transfer.owner, BytesOf(direct)});
      return absl::OkStatus();
    }
    TESSERA_ASSIGN_OR_RETURN(const StridedView staged, Stage(transfer.box));
    receives_.push_back({transfer.owner, BytesOf(staged)});
    arrivals_.push_back({transfer.box, AsConst(staged)});
    return absl::OkStatus();
  }

  absl::Status AddSends(const Transfer& transfer, int ranks) {
    TESSERA_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, DenseBytes(transfer.box));
    for (int rank = 0; rank < ranks; ++rank) {
      const bool has = std::find(transfer.holders.begin(), transfer.holders.end(), rank) !=
                       transfer.holders.end();
      if (!has) sends_.push_back({rank, bytes});
    }
    return absl::OkStatus();
  }

  // The box's elements, next to each other where the host can look at them.
  absl::StatusOr<std::span<const std::byte>> DenseBytes(const Box& box) {
    const auto shard = std::find_if(array_.shards().begin(), array_.shards().end(),
                                    [&](const Shard& candidate) { return candidate.box == box; });
    const ConstStridedView view = shard->View(array_.dtype());
    TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array_.dtype(), box.shape()));
    if (shard->buffer.placement().host_visible && IsDense(view)) {
      return std::span(view.data, static_cast<size_t>(bytes));
    }
    TESSERA_ASSIGN_OR_RETURN(const StridedView staged, Stage(box));
    device::Device* const device = platform_.Find(shard->device.id);
    TESSERA_RETURN_IF_ERROR(device->copies().CopyToHost(view, staged).Wait());
    return std::span<const std::byte>(BytesOf(staged));
  }

  const ShardedArray& array_;
  const device::Platform& platform_;
  const HostTarget& target_;
  std::vector<std::shared_ptr<const void>> staging_;
  std::vector<Arrival> arrivals_;
  std::vector<comm::Send> sends_;
  std::vector<comm::Receive> receives_;
};

absl::Status RunRounds(const ShardedArray& array, const device::Platform& platform,
                       const HostTarget& target, const std::vector<Transfer>& transfers,
                       comm::Comm& comm, const ToHostRanksOptions& options) {
  for (size_t next = 0; next < transfers.size();) {
    Round round(array, platform, target);
    absl::Status prepared;
    int64_t bytes = 0;
    do {
      const Transfer& transfer = transfers[next++];
      if (prepared.ok()) prepared = round.Add(transfer, comm);
      bytes += *NumBytes(array.dtype(), transfer.box.shape());
    } while (next < transfers.size() && bytes < options.budget_bytes);
    TESSERA_RETURN_IF_ERROR(round.Run(prepared, comm, options.limit));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostArray> ToHost(const ShardedArray& array, const device::Platform& platform,
                                 comm::Comm& comm, const ToHostRanksOptions& options) {
  if (comm.size() == 1) return ToHost(array, platform, options.host);
  TESSERA_RETURN_IF_ERROR(AgreeOnArray(array.shape_dtype(),
                                       Concat(" on ", mesh::ShardingText(array.sharding())), comm,
                                       options.limit));
  TESSERA_ASSIGN_OR_RETURN(std::vector<Transfer> transfers, PlanTransfers(array));
  std::optional<HostTarget> target;
  const auto begin = [&]() -> absl::Status {
    TESSERA_RETURN_IF_ERROR(CheckProcesses(transfers, platform, comm));
    TESSERA_ASSIGN_OR_RETURN(const DType dtype, HostDType(array.dtype(), options.host));
    TESSERA_ASSIGN_OR_RETURN(
        target, AllocateTarget({array.shape(), dtype}, platform, options.host.cpu_offload));
    return GatherLocal(array, platform, dtype, target->view, device::TargetMemory::kFresh);
  };
  TESSERA_RETURN_IF_ERROR(comm.Agree(begin(), options.limit));
  const auto everywhere = [&](const Transfer& transfer) {
    std::vector<int> ranks = transfer.holders;
    std::sort(ranks.begin(), ranks.end());
    const auto end = std::unique(ranks.begin(), ranks.end());
    return end - ranks.begin() == comm.size() || transfer.box.empty();
  };
  std::erase_if(transfers, everywhere);
  TESSERA_RETURN_IF_ERROR(RunRounds(array, platform, *target, transfers, comm, options));
  return Finish(*std::move(target));
}

}  // namespace tessera::array
