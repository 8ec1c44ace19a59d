#include "tessera/array/reshard_agreement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/comm/engine.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"

namespace tessera::array {
namespace {

// The texts may be long, so digests are compared first.
Bytes DigestsOf(std::span<const CommonValue> values) {
  std::vector<std::byte> digests;
  for (const CommonValue& value : values) {
    Sha256 hash;
    hash.Update(std::as_bytes(std::span(value.text)));
    const Sha256::Digest digest = hash.Finish();
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  return Bytes::Take(std::move(digests));
}

// The first value whose digest some rank has differently; values.size() when there is none.
size_t FirstDifference(const std::vector<Bytes>& by_rank, size_t count) {
  constexpr size_t kDigest = sizeof(Sha256::Digest);
  for (size_t i = 0; i < count; ++i) {
    const Bytes mine = by_rank.front().Slice(i * kDigest, kDigest);
    for (const Bytes& theirs : by_rank) {
      if (theirs.Slice(i * kDigest, kDigest) != mine) return i;
    }
  }
  return count;
}

std::string CutForMessage(std::string text) {
  constexpr size_t kMost = 300;
  if (text.size() <= kMost) return text;
  text.resize(kMost);
  return text + "...";
}

// "rank 0 has A, ranks 1, 2 have B": one part per distinct text, of which the first few are told.
std::string WhoHasWhat(const std::vector<Bytes>& texts) {
  std::vector<std::pair<std::string_view, std::vector<int>>> groups;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string_view text = texts[rank].text();
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& group) { return group.first == text; });
    if (found == groups.end()) found = groups.insert(found, {text, {}});
    found->second.push_back(static_cast<int>(rank));
  }
  constexpr size_t kMost = 4;
  std::string message;
  for (size_t i = 0; i < std::min(kMost, groups.size()); ++i) {
    message += Concat(i == 0 ? "" : ", ", comm::RanksText(groups[i].second),
                      groups[i].second.size() == 1 ? " has " : " have ",
                      CutForMessage(std::string(groups[i].first)));
  }
  if (groups.size() > kMost) message += Concat(", and ", groups.size() - kMost, " more");
  return message;
}

}  // namespace

absl::Status AgreeOnValues(std::span<const CommonValue> values, comm::Comm& comm,
                           const comm::Limit& limit) {
  if (comm.size() == 1) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> digests,
                           comm.AllGather(DigestsOf(values), limit));
  const size_t which = FirstDifference(digests, values.size());
  if (which == values.size()) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const std::vector<Bytes> texts,
                           comm.AllGather(Bytes::CopyOf(values[which].text), limit));
  return InvalidArgument("ranks differ in ", values[which].name, ": ", WhoHasWhat(texts));
}

}  // namespace tessera::array
