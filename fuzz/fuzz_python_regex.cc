// Any bytes as a pattern and a subject: no crash, no hang, and RuleMatcher, which searches only
// where it must, gives what the plain search gives.
//
// Input: the pattern up to the first 0xFF byte (which UTF-8 never holds), then the subject.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/regex/python_regex.h"
#include "tessera/regex/rule_matcher.h"

namespace {

void SearchFor(const std::string& pattern, std::string_view subject) {
  using ::tessera::regex::PythonRegex;
  using ::tessera::regex::RuleMatcher;
  const auto regex = PythonRegex::Compile(pattern);
  const auto matcher = RuleMatcher::Make(std::vector<std::string>{pattern});
  TESSERA_CHECK(regex.ok() == matcher.ok());
  if (!regex.ok()) return;
  const auto found = regex->Search(subject);
  const auto match = matcher->FirstMatch(subject);
  if (found.ok()) TESSERA_CHECK(match.ok() && match->has_value() == *found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\xFF');
  const std::string_view subject =
      split == std::string_view::npos ? std::string_view() : input.substr(split + 1);
  SearchFor(std::string(input.substr(0, split)), subject);
  return 0;
}
