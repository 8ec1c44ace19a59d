#include "tessera/comm/comm.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "tessera/comm/agreement.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

constexpr int64_t kNobody = std::numeric_limits<int64_t>::min();

std::string_view NameOf(CallKind kind) {
  switch (kind) {
    case CallKind::kBarrier:
      return "Barrier";
    case CallKind::kBroadcast:
      return "Broadcast";
    case CallKind::kGather:
      return "Gather";
    case CallKind::kAllGather:
      return "AllGather";
    case CallKind::kAllToAll:
      return "AllToAll";
    case CallKind::kExchange:
      return "Exchange";
    case CallKind::kAllReduce:
      return "AllReduce";
    case CallKind::kAgree:
      return "Agree";
  }
  return "an unknown call";
}

int64_t Reduce(int64_t a, int64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kSum:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case ReduceOp::kAnd:
      return a & b;
  }
  return a;
}

// Memory that is written before it is read, so it is not cleared; null when there is none left.
std::shared_ptr<std::byte[]> TryAllocate(int64_t size) {
  return std::shared_ptr<std::byte[]>(new (std::nothrow) std::byte[static_cast<size_t>(size)]);
}

absl::Status NoMemory(const Call& call, int64_t size, int from) {
  return ResourceExhausted(call.Text(), ": no memory for ", size, " bytes from rank ", from);
}

// The first mark that is not like rank 0's in what `of` takes from it.
template <typename Of>
std::optional<size_t> FirstUnlike(std::span<const Mark> marks, Of of) {
  for (size_t rank = 1; rank < marks.size(); ++rank) {
    if (of(marks[rank]) != of(marks[0])) return rank;
  }
  return std::nullopt;
}

int RankOf(const Send& send) { return send.to; }
int RankOf(const Receive& receive) { return receive.from; }

template <typename Piece>
int64_t FirstOutside(std::span<const Piece> pieces, int size) {
  for (const Piece& piece : pieces) {
    if (RankOf(piece) < 0 || RankOf(piece) >= size) return RankOf(piece);
  }
  return kNobody;
}

// One number per rank for the sizes of its pieces in their order; equal lists give equal numbers.
template <typename Piece>
std::vector<int64_t> SizeHashes(std::span<const Piece> pieces, int size) {
  std::vector<uint64_t> hashes(static_cast<size_t>(size), 0);
  for (const Piece& piece : pieces) {
    uint64_t& hash = hashes[static_cast<size_t>(RankOf(piece))];
    hash = (hash ^ (piece.bytes.size() + 1)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return {hashes.begin(), hashes.end()};
}

template <typename Piece>
std::vector<Piece> ThoseOf(std::span<const Piece> pieces, int rank, bool wanted) {
  std::vector<Piece> chosen;
  for (const Piece& piece : pieces) {
    if (!piece.bytes.empty() && (RankOf(piece) == rank) == wanted) chosen.push_back(piece);
  }
  return chosen;
}

int FirstFailed(std::span<const absl::Status> statuses) {
  const auto failed = std::find_if_not(statuses.begin(), statuses.end(),
                                       [](const absl::Status& status) { return status.ok(); });
  return static_cast<int>(failed - statuses.begin());
}

// What else an error carries says nothing to other ranks; the rank whose error it is keeps it.
absl::Status WithPayloadsOf(const absl::Status& own, absl::Status merged, bool is_own) {
  if (!is_own) return merged;
  own.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { merged.SetPayload(url, payload); });
  return merged;
}

void CopyOwn(std::span<const Send> sends, std::span<const Receive> receives) {
  TESSERA_CHECK(sends.size() == receives.size());
  for (size_t i = 0; i < sends.size(); ++i) {
    TESSERA_CHECK(sends[i].bytes.size() == receives[i].bytes.size());
    std::memcpy(receives[i].bytes.data(), sends[i].bytes.data(), sends[i].bytes.size());
  }
}

}  // namespace

Comm::Comm(std::unique_ptr<Engine> engine)
    : engine_(std::move(engine)), rank_(engine_->rank()), size_(engine_->size()) {}

Comm::~Comm() { engine_->Abort(calls_, Aborted("left after ", calls_, " calls")); }

absl::Status Comm::Barrier(const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kBarrier), limit));
  return Meet(call, {CallKind::kBarrier}).status();
}

absl::StatusOr<Bytes> Comm::Broadcast(Bytes value, int root, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kBroadcast), limit));
  const auto own_size = static_cast<int64_t>(value.size());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           MeetAtRoot(call, {CallKind::kBroadcast, root, own_size}));
  const int64_t size = marks[static_cast<size_t>(root)].value;
  if (size == 0) return Bytes();
  if (rank_ == root) {
    TESSERA_RETURN_IF_ERROR(Broken(engine_->Spread(call, root, value.span(), {})));
    return value;
  }
  const auto memory = TryAllocate(size);
  if (memory == nullptr) return Fail(call, NoMemory(call, size, root));
  const std::span<std::byte> in(memory.get(), static_cast<size_t>(size));
  TESSERA_RETURN_IF_ERROR(Broken(engine_->Spread(call, root, {}, in)));
  return Bytes::Borrow(in, memory);
}

absl::StatusOr<std::vector<Bytes>> Comm::Gather(Bytes value, int root, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kGather), limit));
  const auto own_size = static_cast<int64_t>(value.size());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           MeetAtRoot(call, {CallKind::kGather, root, own_size}));
  std::vector<Bytes> out(marks.size());
  std::vector<int64_t> in_sizes(marks.size(), 0);
  out[static_cast<size_t>(root)] = std::move(value);
  if (rank_ == root) {
    std::transform(marks.begin(), marks.end(), in_sizes.begin(),
                   [](const Mark& mark) { return mark.value; });
  }
  TESSERA_ASSIGN_OR_RETURN(std::vector<Bytes> in, MoveBytes(call, out, in_sizes));
  if (rank_ != root) in.clear();
  return in;
}

absl::StatusOr<std::vector<Bytes>> Comm::AllGather(Bytes value, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kAllGather), limit));
  const auto own_size = static_cast<int64_t>(value.size());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kAllGather, 0, own_size}));
  return MoveToAll(call, value, marks);
}

absl::StatusOr<std::vector<Bytes>> Comm::AllToAll(std::vector<Bytes> values, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kAllToAll), limit));
  const auto count = static_cast<int64_t>(values.size());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kAllToAll, 0, count}));
  for (size_t rank = 0; rank < marks.size(); ++rank) {
    if (marks[rank].value == size_) continue;
    return InvalidArgument(call.Text(), ": rank ", rank, " gives ", marks[rank].value,
                           " values for ", size_, " ranks");
  }
  std::vector<int64_t> sizes(values.size());
  std::transform(values.begin(), values.end(), sizes.begin(),
                 [](const Bytes& value) { return static_cast<int64_t>(value.size()); });
  const auto in_sizes = engine_->Swap(call, std::move(sizes));
  TESSERA_RETURN_IF_ERROR(Broken(in_sizes.status()));
  return MoveBytes(call, values, *in_sizes);
}

absl::Status Comm::Exchange(std::span<const Send> sends, std::span<const Receive> receives,
                            const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kExchange), limit));
  TESSERA_RETURN_IF_ERROR(CheckRanks(call, sends, receives));
  TESSERA_RETURN_IF_ERROR(CheckSizes(call, sends, receives));
  CopyOwn(ThoseOf(sends, rank_, true), ThoseOf(receives, rank_, true));
  return Broken(engine_->Move(call, ThoseOf(sends, rank_, false), ThoseOf(receives, rank_, false)));
}

absl::StatusOr<int64_t> Comm::AllReduce(int64_t value, ReduceOp op, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kAllReduce), limit));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kAllReduce, static_cast<int32_t>(op), value}));
  int64_t result = marks[0].value;
  for (size_t rank = 1; rank < marks.size(); ++rank) {
    result = Reduce(result, marks[rank].value, op);
  }
  return result;
}

absl::Status Comm::Agree(const absl::Status& mine, const Limit& limit) {
  TESSERA_ASSIGN_OR_RETURN(const Call call, Begin(NameOf(CallKind::kAgree), limit));
  const Bytes told = mine.ok() ? Bytes() : EncodeStatus(mine);
  const auto own_size = static_cast<int64_t>(told.size());
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kAgree, 0, own_size}));
  if (std::all_of(marks.begin(), marks.end(), [](const Mark& mark) { return mark.value == 0; })) {
    return absl::OkStatus();
  }
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> all, MoveToAll(call, told, marks));
  std::vector<absl::Status> statuses(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) statuses[rank] = DecodeStatus(all[rank].span());
  }
  return WithPayloadsOf(mine, MergeStatuses(statuses), FirstFailed(statuses) == rank_);
}

void Comm::Abort(const absl::Status& why) {
  TESSERA_CHECK(!why.ok());
  engine_->Abort(calls_, why);
  if (broken_.ok()) broken_ = Prefixed(why, "this rank aborted");
}

absl::StatusOr<Call> Comm::Begin(std::string_view name, const Limit& limit) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  if (!broken_.ok()) {
    const absl::string_view why = broken_.message();
    return FailedPrecondition(name, ": the comm is broken since an earlier call: ",
                              std::string_view(why.data(), why.size()));
  }
  const auto timeout = std::min(limit.timeout, kLongest);
  Call call = {calls_++, name, timeout, std::chrono::steady_clock::now() + timeout, limit.stop};
  if (limit.stop.stop_requested()) {
    return Fail(call, Cancelled(call.Text(), ": stopped before it began"));
  }
  return call;
}

absl::StatusOr<std::vector<Mark>> Comm::Meet(const Call& call, const Mark& mine) {
  auto met = engine_->Meet(call, mine);
  TESSERA_RETURN_IF_ERROR(Broken(met.status()));
  const std::vector<Mark>& marks = *met;
  if (const auto other = FirstUnlike(marks, [](const Mark& mark) { return mark.kind; })) {
    return Broken(FailedPrecondition("call ", call.index, ": rank 0 calls ", NameOf(marks[0].kind),
                                     ", rank ", *other, " calls ", NameOf(marks[*other].kind),
                                     "; every rank must make the same calls in the same order"));
  }
  if (const auto other = FirstUnlike(marks, [](const Mark& mark) { return mark.detail; })) {
    return InvalidArgument(call.Text(), ": rank 0 gives ", marks[0].detail, ", rank ", *other,
                           " gives ", marks[*other].detail,
                           " where every rank must give the same root or operation");
  }
  return met;
}

absl::StatusOr<std::vector<Mark>> Comm::MeetAtRoot(const Call& call, const Mark& mine) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<Mark> marks, Meet(call, mine));
  if (mine.detail < 0 || mine.detail >= size_) {
    return InvalidArgument(call.Text(), ": root ", mine.detail, " is none of ", size_, " ranks");
  }
  return marks;
}

absl::StatusOr<std::vector<Bytes>> Comm::MoveToAll(const Call& call, const Bytes& value,
                                                   std::span<const Mark> marks) {
  const std::vector<Bytes> out(marks.size(), value);
  std::vector<int64_t> in_sizes(marks.size());
  std::transform(marks.begin(), marks.end(), in_sizes.begin(),
                 [](const Mark& mark) { return mark.value; });
  return MoveBytes(call, out, in_sizes);
}

absl::StatusOr<std::vector<Bytes>> Comm::MoveBytes(const Call& call, std::span<const Bytes> out,
                                                   std::span<const int64_t> in_sizes) {
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::vector<Bytes> in(in_sizes.size());
  for (int rank = 0; rank < size_; ++rank) {
    const auto r = static_cast<size_t>(rank);
    if (rank == rank_) {
      in[r] = out[r];
      continue;
    }
    if (!out[r].empty()) sends.push_back({rank, out[r].span()});
    if (in_sizes[r] == 0) continue;
    const auto memory = TryAllocate(in_sizes[r]);
    if (memory == nullptr) return Fail(call, NoMemory(call, in_sizes[r], rank));
    receives.push_back({rank, {memory.get(), static_cast<size_t>(in_sizes[r])}});
    in[r] = Bytes::Borrow(receives.back().bytes, memory);
  }
  TESSERA_RETURN_IF_ERROR(Broken(engine_->Move(call, sends, receives)));
  return in;
}

absl::Status Comm::CheckRanks(const Call& call, std::span<const Send> sends,
                              std::span<const Receive> receives) {
  int64_t outside = FirstOutside(sends, size_);
  if (outside == kNobody) outside = FirstOutside(receives, size_);
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kExchange, 0, outside}));
  for (size_t rank = 0; rank < marks.size(); ++rank) {
    if (marks[rank].value == kNobody) continue;
    return InvalidArgument(call.Text(), ": rank ", rank, " names rank ", marks[rank].value,
                           ", which is none of ", size_, " ranks");
  }
  return absl::OkStatus();
}

// Without this a plan on which two ranks differ would be bytes in the wrong place, or a wait for
// what is never sent.
absl::Status Comm::CheckSizes(const Call& call, std::span<const Send> sends,
                              std::span<const Receive> receives) {
  const std::vector<int64_t> expected = SizeHashes(receives, size_);
  const auto sent = engine_->Swap(call, SizeHashes(sends, size_));
  TESSERA_RETURN_IF_ERROR(Broken(sent.status()));
  const auto [at, end] = std::mismatch(expected.begin(), expected.end(), sent->begin());
  const int64_t unlike = at == expected.end() ? kNobody : at - expected.begin();
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Mark> marks,
                           Meet(call, {CallKind::kExchange, 0, unlike}));
  for (size_t rank = 0; rank < marks.size(); ++rank) {
    if (marks[rank].value == kNobody) continue;
    return InvalidArgument(call.Text(), ": rank ", marks[rank].value, " sends to rank ", rank,
                           " pieces of other sizes or numbers than rank ", rank, " expects");
  }
  return absl::OkStatus();
}

absl::Status Comm::Broken(const absl::Status& why) {
  if (broken_.ok()) broken_ = why;
  return why;
}

absl::Status Comm::Fail(const Call& call, const absl::Status& why) {
  engine_->Abort(call.index, why);
  return Broken(why);
}

}  // namespace tessera::comm
