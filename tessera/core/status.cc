#include "tessera/core/status.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "absl/strings/cord.h"

namespace tessera {
namespace {

constexpr char kKindUrl[] = "tessera/error-kind";
constexpr ErrorKind kKinds[] = {ErrorKind::kIndivisible, ErrorKind::kDuplicateAxis,
                                ErrorKind::kNoMesh};

}  // namespace

std::string_view ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kIndivisible:
      return "indivisible";
    case ErrorKind::kDuplicateAxis:
      return "duplicate_axis";
    case ErrorKind::kNoMesh:
      return "no_mesh";
  }
  return "unknown";
}

absl::Status WithKind(absl::Status status, ErrorKind kind) {
  status.SetPayload(kKindUrl, absl::Cord(std::string(ErrorKindName(kind))));
  return status;
}

std::optional<ErrorKind> KindOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kKindUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string name(*payload);
  for (ErrorKind kind : kKinds) {
    if (name == ErrorKindName(kind)) return kind;
  }
  return std::nullopt;
}

absl::Status Prefixed(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  const absl::string_view message = status.message();
  absl::Status result(status.code(),
                      Concat(context, ": ", std::string_view(message.data(), message.size())));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

namespace status_internal {
void AppendPart(std::string& text, std::string_view part) { text += part; }
void AppendPart(std::string& text, double part) {
  fmt::format_to(std::back_inserter(text), "{}", part);
}
void AppendPart(std::string& text, int64_t part) { text += std::to_string(part); }
void AppendPart(std::string& text, uint64_t part) { text += std::to_string(part); }

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace status_internal

}  // namespace tessera
