// GoogleMock matchers for absl::Status and absl::StatusOr.
//
// There is no "not OK" matcher on purpose: a test names the error that it expects.
#ifndef TESSERA_CORE_TESTING_STATUS_MATCHERS_H_
#define TESSERA_CORE_TESTING_STATUS_MATCHERS_H_

#include <ostream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tessera/core/status.h"

namespace tessera::testing {

// The codes that most tests name.
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
inline constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// Matches any OK status or result.
MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = status_internal::AsStatus(arg);
  *result_listener << status.ToString();
  return status.ok();
}

// Matches an OK result whose value matches `value_matcher`.
MATCHER_P(IsOkAndHolds, value_matcher,
          "is OK and holds a value that " +
              ::testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(value_matcher,
                                                                                      negation)) {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

// Matches a status of this code whose message matches `message_matcher`.
MATCHER_P2(StatusIs, code, message_matcher,
           std::string("has code ") + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message_matcher, negation)) {
  const absl::Status& status = status_internal::AsStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(status.message()),
                                       result_listener);
}

// Matches a status that carries this ErrorKind.
MATCHER_P(HasKind, kind, "carries the kind " + std::string(ErrorKindName(kind))) {
  const absl::Status& status = status_internal::AsStatus(arg);
  *result_listener << status.ToString();
  return KindOf(status) == kind;
}

}  // namespace tessera::testing

// Fails the test at once unless `expr` is OK; assigns its value to `lhs`.
#define TESSERA_ASSERT_OK_AND_ASSIGN(lhs, expr) \
  TESSERA_ASSERT_OK_AND_ASSIGN_IMPL_(TESSERA_CONCAT_(tessera_or_, __LINE__), lhs, expr)
#define TESSERA_ASSERT_OK_AND_ASSIGN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                       \
  ASSERT_THAT(result, ::tessera::testing::IsOk());            \
  lhs = *std::move(result)

#endif  // TESSERA_CORE_TESTING_STATUS_MATCHERS_H_
