// Errors: absl::Status made from parts, with a kind that callers can tell apart.
//
// Which code to choose: InvalidArgument, the caller asked wrongly; NotFound, no such step, leaf
// or axis; DataLoss, stored bytes contradict their format; Unimplemented, valid but not supported
// here; FailedPrecondition, the state does not allow it; Aborted, a conditional write lost;
// Unavailable, worth a retry; Internal, our bug.
#ifndef TESSERA_CORE_STATUS_H_
#define TESSERA_CORE_STATUS_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tessera {

// Kinds that a status code alone cannot tell apart.  Carried as a payload of the status.
enum class ErrorKind {
  kIndivisible,    // InvalidArgument: a dimension does not split evenly
  kDuplicateAxis,  // InvalidArgument: one mesh axis used twice
  kNoMesh,         // FailedPrecondition: no mesh given and none in scope
};

// "indivisible", "duplicate_axis", "no_mesh".
std::string_view ErrorKindName(ErrorKind kind);

absl::Status WithKind(absl::Status status, ErrorKind kind);
std::optional<ErrorKind> KindOf(const absl::Status& status);

// The same status with `context` and ": " before its message; code and payloads stay.
absl::Status Prefixed(const absl::Status& status, std::string_view context);

namespace status_internal {
void AppendPart(std::string& text, std::string_view part);
void AppendPart(std::string& text, double part);
void AppendPart(std::string& text, int64_t part);
void AppendPart(std::string& text, uint64_t part);

// Every message of the project goes through here, so what is instantiated for each is kept small.
template <typename Part>
void Append(std::string& text, const Part& part) {
  if constexpr (std::same_as<Part, char>) {
    text += part;
  } else if constexpr (std::same_as<Part, bool>) {
    AppendPart(text, std::string_view(part ? "true" : "false"));
  } else if constexpr (std::signed_integral<Part>) {
    AppendPart(text, static_cast<int64_t>(part));
  } else if constexpr (std::unsigned_integral<Part>) {
    AppendPart(text, static_cast<uint64_t>(part));
  } else {
    AppendPart(text, part);
  }
}
}  // namespace status_internal

// The parts' texts one after the other; a part is text, a character, a number or a truth value.
template <typename... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  (status_internal::Append(text, parts), ...);
  return text;
}

template <typename... Parts>
absl::Status InvalidArgument(const Parts&... parts) {
  return absl::InvalidArgumentError(Concat(parts...));
}
template <typename... Parts>
absl::Status NotFound(const Parts&... parts) {
  return absl::NotFoundError(Concat(parts...));
}
template <typename... Parts>
absl::Status DataLoss(const Parts&... parts) {
  return absl::DataLossError(Concat(parts...));
}
template <typename... Parts>
absl::Status Unimplemented(const Parts&... parts) {
  return absl::UnimplementedError(Concat(parts...));
}
template <typename... Parts>
absl::Status FailedPrecondition(const Parts&... parts) {
  return absl::FailedPreconditionError(Concat(parts...));
}
template <typename... Parts>
absl::Status Aborted(const Parts&... parts) {
  return absl::AbortedError(Concat(parts...));
}
template <typename... Parts>
absl::Status Unavailable(const Parts&... parts) {
  return absl::UnavailableError(Concat(parts...));
}
template <typename... Parts>
absl::Status ResourceExhausted(const Parts&... parts) {
  return absl::ResourceExhaustedError(Concat(parts...));
}
template <typename... Parts>
absl::Status Cancelled(const Parts&... parts) {
  return absl::CancelledError(Concat(parts...));
}
template <typename... Parts>
absl::Status Internal(const Parts&... parts) {
  return absl::InternalError(Concat(parts...));
}

namespace status_internal {
inline const absl::Status& AsStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& AsStatus(const absl::StatusOr<T>& result) {
  return result.status();
}
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace status_internal

}  // namespace tessera

#define TESSERA_CONCAT_INNER_(a, b) a##b
#define TESSERA_CONCAT_(a, b) TESSERA_CONCAT_INNER_(a, b)

// Returns the status of `expr` from the enclosing function unless it is OK.
#define TESSERA_RETURN_IF_ERROR(expr)                                      \
  do {                                                                     \
    if (auto tessera_status_ = (expr); !tessera_status_.ok()) [[unlikely]] \
      return ::tessera::status_internal::AsStatus(tessera_status_);        \
  } while (false)

// `lhs` = the value of `expr`, or returns its status.  Write a comma in `lhs` inside parentheses.
#define TESSERA_ASSIGN_OR_RETURN(lhs, expr) \
  TESSERA_ASSIGN_OR_RETURN_IMPL_(TESSERA_CONCAT_(tessera_or_, __LINE__), lhs, expr)
#define TESSERA_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                   \
  if (!result.ok()) [[unlikely]]                          \
    return std::move(result).status();                    \
  lhs = *std::move(result)

// Stops the program on a bug of ours.  Never for bytes from outside.
#define TESSERA_CHECK(condition)                                               \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::tessera::status_internal::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#endif  // TESSERA_CORE_STATUS_H_
