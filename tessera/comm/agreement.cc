#include "tessera/comm/agreement.h"

#include <algorithm>
#include <vector>

#include "tessera/comm/engine.h"
#include "tessera/core/status.h"

namespace tessera::comm {
namespace {

// Byte 0 is the code, byte 1 the kind plus one or 0 for none, the rest the message.
constexpr size_t kPrefix = 2;

// Shortens to whole UTF-8 characters, so that a message stays printable.
std::string_view Shortened(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

absl::Status WithKindOf(absl::Status status, const absl::Status& source) {
  const auto kind = KindOf(source);
  return kind.has_value() ? WithKind(std::move(status), *kind) : status;
}

}  // namespace

Bytes EncodeStatus(const absl::Status& status, size_t max_message) {
  const auto kind = KindOf(status);
  std::string text;
  text += static_cast<char>(status.code());
  text += static_cast<char>(kind.has_value() ? static_cast<int>(*kind) + 1 : 0);
  text += Shortened(MessageOf(status), max_message);
  return Bytes::CopyOf(text);
}

absl::Status DecodeStatus(std::span<const std::byte> encoded) {
  if (encoded.size() < kPrefix) {
    return Internal("a status of ", encoded.size(), " bytes came, at least ", kPrefix, " expected");
  }
  const int code = std::to_integer<int>(encoded[0]);
  const int kind = std::to_integer<int>(encoded[1]);
  if (code > static_cast<int>(absl::StatusCode::kUnauthenticated) ||
      kind > static_cast<int>(ErrorKind::kNoMesh) + 1) {
    return Internal("a status with code ", code, " and kind ", kind, " came; neither is so large");
  }
  const std::span<const std::byte> message = encoded.subspan(kPrefix);
  absl::Status status(
      static_cast<absl::StatusCode>(code),
      absl::string_view(reinterpret_cast<const char*>(message.data()), message.size()));
  return kind == 0 ? status : WithKind(std::move(status), static_cast<ErrorKind>(kind - 1));
}

absl::Status MergeStatuses(std::span<const absl::Status> by_rank) {
  constexpr size_t kTold = 8;
  std::vector<int> failed;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (!by_rank[rank].ok()) failed.push_back(static_cast<int>(rank));
  }
  if (failed.empty()) return absl::OkStatus();
  const absl::Status& first = by_rank[static_cast<size_t>(failed[0])];
  if (by_rank.size() == 1) return first;
  if (failed.size() == 1) return Prefixed(first, Concat("rank ", failed[0]));
  const bool alike = std::all_of(by_rank.begin(), by_rank.end(),
                                 [&](const absl::Status& status) { return status == first; });
  if (alike) return first;
  std::string text = Concat(failed.size(), " of ", by_rank.size(), " ranks failed");
  for (size_t i = 0; i < std::min(failed.size(), kTold); ++i) {
    const absl::Status& status = by_rank[static_cast<size_t>(failed[i])];
    text += Concat("; rank ", failed[i], ": ", MessageOf(status));
  }
  if (failed.size() > kTold) {
    text += Concat("; also ", RanksText(std::span(failed).subspan(kTold)));
  }
  return WithKindOf(absl::Status(first.code(), text), first);
}

}  // namespace tessera::comm
