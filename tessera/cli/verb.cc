#include "tessera/cli/verb.h"

namespace tessera::cli {

const std::vector<Option>& CommonOptions() {
  static const auto& options = *new std::vector<Option>{
      {.name = "--json", .help = "print one JSON document and nothing else"},
      {.name = "--quiet", .help = "no progress", .letter = 'q'},
      {.name = "--help", .help = "what the verb does, with an example", .letter = 'h'},
  };
  return options;
}

const Option* FindOption(const Verb& verb, std::string_view name) {
  for (const auto* list : {&verb.options, &CommonOptions()}) {
    for (const Option& option : *list) {
      const bool by_letter =
          option.letter != 0 && name.size() == 2 && name[0] == '-' && name[1] == option.letter;
      if (option.name == name || by_letter) return &option;
    }
  }
  return nullptr;
}

}  // namespace tessera::cli
