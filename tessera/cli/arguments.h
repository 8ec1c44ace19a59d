// Arguments: the words after a verb, held against what the verb takes.
#ifndef TESSERA_CLI_ARGUMENTS_H_
#define TESSERA_CLI_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/cli/verb.h"

namespace tessera::cli {

class Arguments {
 public:
  // Options may stand anywhere: "--match RE", "--match=RE", "-o FILE"; what follows "--" is no
  // option.  InvalidArgument, with what was probably meant, for an option that the verb does not
  // have; for one without its value, with one too many or given twice; and for positionals that
  // are missing or too many, unless help is asked for.
  static absl::StatusOr<Arguments> Parse(const Verb& verb, std::span<const std::string> words);

  const std::string& Positional(size_t number) const { return positionals_[number]; }

  // REQUIRES of all below: the verb has this option.
  bool Has(std::string_view option) const { return values_.contains(option); }
  std::optional<std::string> Text(std::string_view option) const;
  // Of one that repeats, in the order given.
  std::vector<std::string> Texts(std::string_view option) const;
  // As ParseSize takes it; errors name the option.
  absl::StatusOr<std::optional<int64_t>> Size(std::string_view option) const;
  // A number from `least` up.
  absl::StatusOr<std::optional<int64_t>> Count(std::string_view option, int64_t least = 1) const;

  bool json() const { return Has("--json"); }
  bool quiet() const { return Has("--quiet"); }
  bool help() const { return Has("--help"); }

 private:
  std::vector<std::string> positionals_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;  // a flag has ""
};

}  // namespace tessera::cli

#endif  // TESSERA_CLI_ARGUMENTS_H_
