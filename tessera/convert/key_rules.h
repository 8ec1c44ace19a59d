// KeyRules: the patterns of a request, ready to be asked about keys.
#ifndef TESSERA_CONVERT_KEY_RULES_H_
#define TESSERA_CONVERT_KEY_RULES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/convert/request.h"
#include "tessera/core/shape.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/python_substitution.h"

namespace tessera::convert {

class KeyRules {
 public:
  // InvalidArgument, naming the option, for a wrong pattern or replacement, and for a permutation
  // that is none.
  static absl::StatusOr<KeyRules> Make(const ConvertRequest& request);

  absl::StatusOr<bool> Selects(std::string_view key) const;
  absl::StatusOr<std::string> Renamed(std::string_view key) const;
  // Empty when no rule matches.  InvalidArgument when the one that does is for another rank.
  absl::StatusOr<Dims> PermutationOf(std::string_view key, size_t rank) const;

 private:
  struct Transpose {
    regex::PythonRegex pattern;
    std::optional<Dims> permutation;
  };

  KeyRules() = default;

  std::optional<regex::PythonRegex> match_;
  std::vector<regex::PythonSubstitution> renames_;
  std::vector<Transpose> transposes_;
};

}  // namespace tessera::convert

#endif  // TESSERA_CONVERT_KEY_RULES_H_
