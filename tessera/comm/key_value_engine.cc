#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "tessera/comm/agreement.h"
#include "tessera/comm/key_value.h"
#include "tessera/comm/piece_stream.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A wait is cut into slices, between which the rank looks whether another one has failed.  Short at
// first, since most waits are, then longer, since a thousand ranks may be asking.
constexpr milliseconds kFirstSlice(20);
constexpr milliseconds kLongestSlice(400);

// The rank that collects what all say; the others ask it alone.
constexpr int kRoot = 0;

// How many blocks of a pair of ranks may be in the store, which keeps them in memory.
constexpr int64_t kBlocksOnTheirWay = 2;
constexpr int64_t kBlocksSpreadAtOnce = 16;

// Why a rank takes part in nothing from call `index` on.
struct Notice {
  int64_t index = 0;
  int rank = 0;
  absl::Status why;
};

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(values));
}

// `count` values as BytesOf gave them.  They come from a process of the same program.
template <typename T>
absl::StatusOr<std::vector<T>> ValuesOf(const Bytes& bytes, size_t count) {
  if (bytes.size() != count * sizeof(T)) {
    return Internal("a value of ", bytes.size(), " bytes came, ", count * sizeof(T), " expected");
  }
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

absl::StatusOr<Notice> DecodeNotice(int rank, const Bytes& bytes) {
  Notice notice;
  notice.rank = rank;
  if (bytes.size() < sizeof(notice.index)) {
    return Internal("a notice of ", bytes.size(), " bytes came from rank ", rank);
  }
  std::memcpy(&notice.index, bytes.data(), sizeof(notice.index));
  notice.why = DecodeStatus(bytes.span().subspan(sizeof(notice.index)));
  return notice;
}

// The number after the key's last slash; -1 if there is none.
int RankOfKey(std::string_view key) {
  int rank = -1;
  const size_t begin = key.rfind('/') + 1;
  std::from_chars(key.data() + begin, key.data() + key.size(), rank);
  return rank;
}

class KeyValueEngine final : public Engine {
 public:
  KeyValueEngine(std::shared_ptr<KeyValueClient> client, const KeyValueOptions& options)
      : client_(std::move(client)), options_(options) {}

  // Whoever leaves last takes everything along.
  ~KeyValueEngine() override {
    if (!told_) return;
    const auto told = client_->List(NoticeFolder());
    if (!told.ok() || told->size() < static_cast<size_t>(size())) return;
    client_->Delete(options_.session).IgnoreError();
  }

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }

  absl::StatusOr<std::vector<Mark>> Meet(const Call& call, const Mark& mine) override {
    ++round_;
    const auto count = static_cast<size_t>(size());
    TESSERA_RETURN_IF_ERROR(Set(call, HereKey(rank()), BytesOf(std::vector<Mark>{mine})));
    std::vector<Mark> marks(count);
    if (rank() == kRoot) {
      marks[kRoot] = mine;
      TESSERA_RETURN_IF_ERROR(Collect(call, std::span(marks)));
      TESSERA_RETURN_IF_ERROR(Set(call, RoundKey("all"), BytesOf(marks)));
      ForgetRoundsBefore(round_);
    } else {
      TESSERA_ASSIGN_OR_RETURN(const Bytes all, Await(call, RoundKey("all"), kRoot, Wait::kMeet));
      TESSERA_ASSIGN_OR_RETURN(marks, Checked(call, ValuesOf<Mark>(all, count)));
    }
    return marks;
  }

  absl::StatusOr<std::vector<int64_t>> Swap(const Call& call,
                                            std::vector<int64_t> values) override {
    ++round_;
    const auto count = static_cast<size_t>(size());
    if (rank() == kRoot) return SwapAtRoot(call, values);
    TESSERA_RETURN_IF_ERROR(Set(call, HereKey(rank()), BytesOf(values)));
    TESSERA_ASSIGN_OR_RETURN(const Bytes mine,
                             Await(call, RoundKey(Concat("to/", rank())), kRoot, Wait::kAnswer));
    return Checked(call, ValuesOf<int64_t>(mine, count));
  }

  absl::Status Move(const Call& call, std::span<const Send> sends,
                    std::span<const Receive> receives) override {
    ++round_;
    std::map<int, PieceStream<const std::byte>> out;
    std::map<int, PieceStream<std::byte>> in;
    for (const Send& send : sends) out[send.to].Add(send.bytes);
    for (const Receive& receive : receives) in[receive.from].Add(receive.bytes);
    // Every rank sends its blocks of a step before it waits for those of the others, and a step
    // needs only what was received in earlier steps.  So no two ranks wait for each other.
    for (int64_t step = 0; !out.empty() || !in.empty(); ++step) {
      for (auto& [to, stream] : out) TESSERA_RETURN_IF_ERROR(SendBlock(call, step, to, stream));
      for (auto& [from, stream] : in) {
        TESSERA_RETURN_IF_ERROR(ReceiveBlock(call, step, from, stream));
      }
      std::erase_if(out, [](const auto& entry) { return entry.second.left() == 0; });
      std::erase_if(in, [](const auto& entry) { return entry.second.left() == 0; });
    }
    return absl::OkStatus();
  }

  absl::Status Spread(const Call& call, int root, std::span<const std::byte> out,
                      std::span<std::byte> in) override {
    ++round_;
    PieceStream<const std::byte> source;
    PieceStream<std::byte> target;
    source.Add(out);
    target.Add(in);
    for (int64_t step = 0; source.left() > 0 || target.left() > 0; ++step) {
      // Between meetings the root cannot know how far the readers are.
      if (step > 0 && step % kBlocksSpreadAtOnce == 0) {
        TESSERA_RETURN_IF_ERROR(Meet(call, {}).status());
      }
      const std::string key = RoundKey(Concat("spread/", step));
      const absl::Status done =
          rank() == root ? SetBlock(call, key, source) : AwaitBlock(call, key, root, target);
      TESSERA_RETURN_IF_ERROR(done);
    }
    return absl::OkStatus();
  }

  void Abort(int64_t index, const absl::Status& why) override {
    if (std::exchange(told_, true)) return;
    std::vector<std::byte> notice(sizeof(index));
    std::memcpy(notice.data(), &index, sizeof(index));
    const Bytes status = EncodeStatus(why);
    notice.insert(notice.end(), status.data(), status.data() + status.size());
    client_->Set(Concat(NoticeFolder(), rank()), notice).IgnoreError();
  }

 private:
  // What a rank that says nothing has failed to do.
  enum class Wait { kMeet, kAnswer };

  std::string NoticeFolder() const { return Concat(options_.session, "/gone/"); }
  std::string RoundFolder(int64_t round) const { return Concat(options_.session, "/", round); }
  std::string RoundKey(std::string_view name) const {
    return Concat(RoundFolder(round_), "/", name);
  }
  std::string HereKey(int rank) const { return RoundKey(Concat("here/", rank)); }
  std::string BlockKey(std::string_view kind, int from, int to, int64_t step) const {
    return RoundKey(Concat(kind, "/", from, "/", to, "/", step));
  }

  // The marks of all others, of which none has failed.
  absl::Status Collect(const Call& call, std::span<Mark> marks) {
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      TESSERA_ASSIGN_OR_RETURN(const Bytes told, Await(call, HereKey(other), other, Wait::kMeet));
      TESSERA_ASSIGN_OR_RETURN(const auto mark, Checked(call, ValuesOf<Mark>(told, 1)));
      marks[static_cast<size_t>(other)] = mark[0];
    }
    return CheckNotices(call);
  }

  absl::StatusOr<std::vector<int64_t>> SwapAtRoot(const Call& call,
                                                  const std::vector<int64_t>& mine) {
    const auto count = static_cast<size_t>(size());
    std::vector<std::vector<int64_t>> to(count, std::vector<int64_t>(count));
    for (int from = 0; from < size(); ++from) {
      std::vector<int64_t> values = mine;
      if (from != rank()) {
        TESSERA_ASSIGN_OR_RETURN(const Bytes told, Await(call, HereKey(from), from, Wait::kAnswer));
        TESSERA_ASSIGN_OR_RETURN(values, Checked(call, ValuesOf<int64_t>(told, count)));
      }
      for (size_t r = 0; r < count; ++r) to[r][static_cast<size_t>(from)] = values[r];
    }
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      const auto bytes = BytesOf(to[static_cast<size_t>(other)]);
      TESSERA_RETURN_IF_ERROR(Set(call, RoundKey(Concat("to/", other)), bytes));
    }
    return to[static_cast<size_t>(rank())];
  }

  absl::Status SendBlock(const Call& call, int64_t step, int to,
                         PieceStream<const std::byte>& stream) {
    if (step >= kBlocksOnTheirWay) {
      const std::string read = BlockKey("read", rank(), to, step - kBlocksOnTheirWay);
      TESSERA_RETURN_IF_ERROR(Await(call, read, to, Wait::kAnswer).status());
    }
    return SetBlock(call, BlockKey("block", rank(), to, step), stream);
  }

  absl::Status ReceiveBlock(const Call& call, int64_t step, int from,
                            PieceStream<std::byte>& stream) {
    const std::string key = BlockKey("block", from, rank(), step);
    TESSERA_RETURN_IF_ERROR(AwaitBlock(call, key, from, stream));
    // The sender waits for this word only if the block after the next one is to come.
    if (stream.left() <= (kBlocksOnTheirWay - 1) * options_.block_bytes) return absl::OkStatus();
    TESSERA_RETURN_IF_ERROR(Checked(call, client_->Delete(key)));
    return Set(call, BlockKey("read", from, rank(), step), {});
  }

  absl::Status SetBlock(const Call& call, const std::string& key,
                        PieceStream<const std::byte>& stream) {
    std::vector<std::byte> block;
    stream.Take(options_.block_bytes, [&](std::span<const std::byte> part) {
      block.insert(block.end(), part.begin(), part.end());
    });
    return Set(call, key, block);
  }

  absl::Status AwaitBlock(const Call& call, const std::string& key, int from,
                          PieceStream<std::byte>& stream) {
    TESSERA_ASSIGN_OR_RETURN(const Bytes block, Await(call, key, from, Wait::kAnswer));
    const auto expected = static_cast<size_t>(std::min(options_.block_bytes, stream.left()));
    if (block.size() != expected) {
      return Checked(call, Internal("a block of ", block.size(), " bytes came from rank ", from,
                                    ", ", expected, " expected"));
    }
    const std::byte* source = block.data();
    stream.Take(options_.block_bytes, [&](std::span<std::byte> part) {
      std::memcpy(part.data(), source, part.size());
      source += part.size();
    });
    return absl::OkStatus();
  }

  absl::Status Set(const Call& call, const std::string& key, std::span<const std::byte> value) {
    return Checked(call, client_->Set(key, value));
  }

  // Waits for what rank `from` sets, and for as long as no rank fails.
  absl::StatusOr<Bytes> Await(const Call& call, const std::string& key, int from, Wait what) {
    for (milliseconds slice = kFirstSlice;; slice = std::min(2 * slice, kLongestSlice)) {
      const auto left = std::chrono::ceil<milliseconds>(call.deadline - steady_clock::now());
      const auto timeout = std::clamp(left, milliseconds(1), slice);
      TESSERA_ASSIGN_OR_RETURN(std::optional<Bytes> value,
                               Checked(call, client_->Get(key, timeout)));
      if (value.has_value()) return *std::move(value);
      TESSERA_RETURN_IF_ERROR(CheckNotices(call));
      if (call.stop.stop_requested()) return GiveUp(call, Cancelled(call.Text(), ": stopped"));
      if (steady_clock::now() >= call.deadline) return GiveUp(call, TooLate(call, from, what));
    }
  }

  // The error of the rank that failed first, if it takes no part in this call.
  absl::Status CheckNotices(const Call& call) {
    TESSERA_ASSIGN_OR_RETURN(const auto found, Checked(call, client_->List(NoticeFolder())));
    std::optional<Notice> first;
    for (const KeyValue& entry : found) {
      TESSERA_ASSIGN_OR_RETURN(Notice notice,
                               Checked(call, DecodeNotice(RankOfKey(entry.key), entry.value)));
      if (notice.index > call.index || notice.rank == rank()) continue;
      if (!first.has_value() ||
          std::pair(notice.index, notice.rank) < std::pair(first->index, first->rank)) {
        first = std::move(notice);
      }
    }
    if (!first.has_value()) return absl::OkStatus();
    return Prefixed(first->why, Concat("rank ", first->rank));
  }

  absl::Status TooLate(const Call& call, int from, Wait what) {
    std::vector<int> missing;
    if (what == Wait::kMeet) missing = NotHere();
    const std::string_view lacks = missing.empty() ? " did not answer" : " did not come";
    if (missing.empty()) missing = {from};
    const double seconds = std::chrono::duration<double>(call.timeout).count();
    return absl::DeadlineExceededError(
        Concat(call.Text(), ": ", RanksText(missing), lacks, " within ", seconds, " s"));
  }

  // The ranks that have not come to this round's meeting.
  std::vector<int> NotHere() {
    const auto here = client_->List(RoundKey("here/"));
    if (!here.ok()) return {};
    std::vector<bool> present(static_cast<size_t>(size()), false);
    for (const KeyValue& entry : *here) {
      const int rank = RankOfKey(entry.key);
      if (rank >= 0 && rank < size()) present[static_cast<size_t>(rank)] = true;
    }
    std::vector<int> missing;
    for (int rank = 0; rank < size(); ++rank) {
      if (!present[static_cast<size_t>(rank)]) missing.push_back(rank);
    }
    return missing;
  }

  // A rank that is at a meeting has read all that it needs of earlier rounds.
  void ForgetRoundsBefore(int64_t round) {
    for (; forgotten_ < round - 1; ++forgotten_) {
      client_->Delete(RoundFolder(forgotten_ + 1)).IgnoreError();
    }
  }

  absl::Status GiveUp(const Call& call, const absl::Status& why) {
    Abort(call.index, why);
    return why;
  }

  // An error of the store is one of this rank, which the others must learn of.
  absl::Status Checked(const Call& call, const absl::Status& status) {
    return status.ok() ? status : GiveUp(call, Prefixed(status, call.Text()));
  }
  template <typename T>
  absl::StatusOr<T> Checked(const Call& call, absl::StatusOr<T> result) {
    if (!result.ok()) return Checked(call, result.status());
    return result;
  }

  const std::shared_ptr<KeyValueClient> client_;
  const KeyValueOptions options_;
  int64_t round_ = 0;      // counts the primitives, alike on every rank; from 1
  int64_t forgotten_ = 0;  // the last round whose keys were deleted
  bool told_ = false;      // the others know that this rank takes part in nothing more
};

}  // namespace

absl::StatusOr<std::unique_ptr<Comm>> OpenKeyValue(std::shared_ptr<KeyValueClient> client,
                                                   const KeyValueOptions& options) {
  if (options.rank < 0 || options.rank >= options.size) {
    return InvalidArgument("rank ", options.rank, " is none of ", options.size, " ranks");
  }
  if (options.session.empty() || options.session.back() == '/') {
    return InvalidArgument("the session is \"", options.session,
                           "\", expected a name that does not end with a slash");
  }
  if (options.block_bytes < 1) {
    return InvalidArgument("block_bytes is ", options.block_bytes, ", expected at least 1");
  }
  return std::make_unique<Comm>(std::make_unique<KeyValueEngine>(std::move(client), options));
}

}  // namespace tessera::comm
