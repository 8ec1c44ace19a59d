// What the text of a rule tells about the names it can be found in, without matching.
#ifndef TESSERA_REGEX_RULE_FILTER_H_
#define TESSERA_REGEX_RULE_FILTER_H_

#include <string>
#include <vector>

#include "tessera/regex/python_regex_syntax.h"

namespace tessera::regex {

// UTF-8 texts, none of them empty.
using TextSet = std::vector<std::string>;

struct RuleFilter {
  // The rule is found in every name.
  bool finds_everything = false;

  // A name in which the rule is found holds a text of each of these sets.
  std::vector<TextSet> required;

  // `required` has one set, and every name that holds one of its texts has the rule in it.
  bool is_exact = false;
};

// Tells most of a pattern that went through TrimForSearch.
RuleFilter FilterOf(const RegexSyntax& syntax);

}  // namespace tessera::regex

#endif  // TESSERA_REGEX_RULE_FILTER_H_
