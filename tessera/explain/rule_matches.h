// Which rule takes which array, also where some patterns are no regular expressions.
#ifndef TESSERA_EXPLAIN_RULE_MATCHES_H_
#define TESSERA_EXPLAIN_RULE_MATCHES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/mesh/rules.h"

namespace tessera::explain {

struct MatchedRules {
  std::vector<std::optional<size_t>> rule_of;  // by name: the first rule that is found in it
  std::map<size_t, std::string> bad;           // by rule: why it cannot be searched for
};

// Bad rules are passed over.  Errors of PythonRegex::CheckSubject.
absl::StatusOr<MatchedRules> MatchGoodRules(std::span<const mesh::PartitionRule> rules,
                                            std::span<const std::string_view> names);

// The positions of the names in which the pattern is found; none when it is no pattern.
std::vector<size_t> NamesWith(const std::string& pattern, std::span<const std::string_view> names);

// What a pattern that is found in no name may have meant: "did you mean 'x'?", or "".
std::string MeantPattern(const std::string& pattern, std::span<const std::string_view> names);

}  // namespace tessera::explain

#endif  // TESSERA_EXPLAIN_RULE_MATCHES_H_
