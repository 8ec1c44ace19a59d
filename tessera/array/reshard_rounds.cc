#include "tessera/array/reshard_rounds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

// Cuts `box` along `dimension`, before which every size is 1.  `bytes` is the size of the box.
void Cut(const Box& box, int dimension, int64_t bytes, int64_t max_bytes, std::vector<Box>& out) {
  if (bytes <= max_bytes) return out.push_back(box);
  const int64_t count = box.shape()[dimension];
  const int64_t index_bytes = bytes / count;
  const int64_t runs =
      index_bytes <= max_bytes ? CeilDivide(count, max_bytes / index_bytes) : count;
  Dims origin = box.origin();
  Dims shape = box.shape();
  for (int64_t i = 0; i < runs; ++i) {
    shape[dimension] = count / runs + (i < count % runs ? 1 : 0);
    Cut(*Box::Make(origin, shape), dimension + 1, index_bytes * shape[dimension], max_bytes, out);
    origin[dimension] += shape[dimension];
  }
}

// One direction of one process: which round it fills, and how much of it is taken.
struct Filling {
  int64_t round = 0;
  int64_t bytes = 0;

  int64_t FirstRoundFor(int64_t more, int64_t limit) const {
    return more <= limit - bytes ? round : round + 1;
  }
  void Add(int64_t to_round, int64_t more) {
    bytes = to_round == round ? bytes + more : more;
    round = to_round;
  }
};

// In what order transfers look for a round.  In step k every process sends to the one k places
// after it, so that in each round all of them send and receive alike; were the order that of the
// targets, all would send to one process first, and then to the next.
struct Turn {
  int64_t step = 0;
  int64_t piece = 0;  // of those between the same two processes
  int64_t from = 0;
  int64_t to = 0;
  size_t index = 0;  // in RoundMaker::transfers_, so that little is moved while sorting
};

class RoundMaker {
 public:
  RoundMaker(const ReshardPlan& plan, int64_t half_budget)
      : plan_(plan), half_budget_(half_budget) {
    for (const ProcessTotals& totals : plan.totals) {
      place_.emplace(totals.process, static_cast<int64_t>(place_.size()));
    }
  }

  absl::Status Cut(std::vector<BoxTransfer> whole) {
    turns_.reserve(whole.size());
    transfers_.reserve(whole.size());
    const int64_t element_bytes = DTypeBytes(plan_.array.dtype);
    for (BoxTransfer& transfer : whole) {
      TESSERA_RETURN_IF_ERROR(CheckPieces(CeilDivide(transfer.bytes, half_budget_)));
      if (transfer.bytes <= half_budget_) {
        AddTurn(std::move(transfer));
        continue;
      }
      for (Box& box : CutBox(transfer.box, element_bytes, half_budget_)) {
        const int64_t bytes = *box.num_elements() * element_bytes;
        AddTurn({0, transfer.source, transfer.targets, std::move(box), bytes});
      }
    }
    TESSERA_RETURN_IF_ERROR(CheckPieces(0));
    std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
      return std::tie(a.step, a.piece, a.from) < std::tie(b.step, b.piece, b.from);
    });
    return absl::OkStatus();
  }

  std::vector<BoxTransfer> Assign() {
    std::vector<Filling> sends(place_.size()), receives(place_.size());
    for (const Turn& turn : turns_) {
      Filling& send = sends[static_cast<size_t>(turn.from)];
      Filling& receive = receives[static_cast<size_t>(turn.to)];
      BoxTransfer& transfer = transfers_[turn.index];
      transfer.round = std::max(send.FirstRoundFor(transfer.bytes, half_budget_),
                                receive.FirstRoundFor(transfer.bytes, half_budget_));
      send.Add(transfer.round, transfer.bytes);
      receive.Add(transfer.round, transfer.bytes);
    }
    std::stable_sort(turns_.begin(), turns_.end(), [&](const Turn& a, const Turn& b) {
      return transfers_[a.index].round < transfers_[b.index].round;
    });
    std::vector<BoxTransfer> ordered;
    ordered.reserve(turns_.size());
    for (const Turn& turn : turns_) ordered.push_back(std::move(transfers_[turn.index]));
    return ordered;
  }

 private:
  absl::Status CheckPieces(int64_t more) const {
    if (static_cast<int64_t>(turns_.size()) + more <= kMaxTransfers) return absl::OkStatus();
    return InvalidArgument("with budget_bytes ", 2 * half_budget_, " moving ",
                           DTypeName(plan_.array.dtype), ShapeText(plan_.array.shape),
                           " takes more than ", kMaxTransfers, " transfers");
  }

  void AddTurn(BoxTransfer transfer) {
    const auto places = static_cast<int64_t>(place_.size());
    Turn turn;
    turn.from = PlaceOf(plan_.sources[static_cast<size_t>(transfer.source)]);
    turn.to = PlaceOf(plan_.targets[static_cast<size_t>(transfer.targets.front())]);
    turn.step = (turn.to - turn.from + places) % places;
    turn.piece = pieces_[{turn.from, turn.to}]++;
    turn.index = transfers_.size();
    transfers_.push_back(std::move(transfer));
    turns_.push_back(turn);
  }

  int64_t PlaceOf(const mesh::DeviceShard& shard) const {
    return place_.find(shard.device.process)->second;
  }

  const ReshardPlan& plan_;
  const int64_t half_budget_;
  absl::flat_hash_map<int, int64_t> place_;  // of a process among all
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> pieces_;
  std::vector<BoxTransfer> transfers_;
  std::vector<Turn> turns_;
};

}  // namespace

std::vector<Box> CutBox(const Box& box, int64_t element_bytes, int64_t max_bytes) {
  std::vector<Box> pieces;
  Cut(box, 0, *box.num_elements() * element_bytes, max_bytes, pieces);
  return pieces;
}

absl::Status AssignRounds(ReshardPlan& plan, int64_t budget_bytes) {
  RoundMaker maker(plan, budget_bytes / 2);
  TESSERA_RETURN_IF_ERROR(maker.Cut(std::move(plan.transfers)));
  plan.transfers = maker.Assign();
  plan.rounds = plan.transfers.empty() ? 0 : plan.transfers.back().round + 1;
  return absl::OkStatus();
}

}  // namespace tessera::array
