// An ordered list of patterns, of which the first that is found in a name wins.
//
// Gives what a loop over PythonRegex::Search gives, without searching for most patterns: one pass
// over the name tells which literals it holds, and a pattern whose literals are missing cannot
// be found.
#ifndef TESSERA_REGEX_RULE_MATCHER_H_
#define TESSERA_REGEX_RULE_MATCHER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::regex {

// Immutable; copies share the patterns, and threads may match with it at once.
class RuleMatcher {
 public:
  // InvalidArgument with the index and the text of the first pattern that does not compile.
  static absl::StatusOr<RuleMatcher> Make(std::span<const std::string> patterns);

  // Index of the first pattern that is found in `name`; nullopt: none is.  Errors are those of
  // PythonRegex::Search, with the pattern's index.
  absl::StatusOr<std::optional<size_t>> FirstMatch(std::string_view name) const;

  // FirstMatch of every name, on several threads when there are many.  The error, if any, is that
  // of the first name that has one.
  absl::StatusOr<std::vector<std::optional<size_t>>> FirstMatches(
      std::span<const std::string_view> names) const;

  size_t size() const;

 private:
  struct Rules;
  explicit RuleMatcher(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

  std::shared_ptr<const Rules> rules_;
};

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_RULE_MATCHER_H_
