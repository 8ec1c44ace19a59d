// Verb: what the command can be told to do, as plain data.
//
// Parsing, --help, the man page and the completion of shells all read this one table.
#ifndef TESSERA_CLI_VERB_H_
#define TESSERA_CLI_VERB_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera::cli {

class Arguments;
class Context;

struct Option {
  std::string_view name;        // "--match"
  std::string_view value = {};  // what its value is called: "RE"; empty: a flag
  std::string_view help = {};   // one line
  bool repeats = false;
  bool is_path = false;                        // a shell completes file names
  std::vector<std::string_view> choices = {};  // a shell completes these
  char letter = 0;                             // 'o' for -o
};

struct Positional {
  std::string_view name;  // "CKPT"
  std::string_view help = {};
  bool is_path = true;
  std::vector<std::string_view> choices = {};
};

struct Example {
  std::string_view command;
  std::string_view tells;  // what it does
};

// What a verb found out, as an exit code.  That it could not find out is an error, and 2.
enum class Answer {
  kYes = 0,
  kNo = 1,  // different, damaged or over budget
};

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line
  std::vector<Positional> positionals = {};
  std::vector<Option> options = {};  // beside those that all verbs have
  std::string_view details = {};     // paragraphs, for --help and the man page
  std::vector<Example> examples = {};
  absl::StatusOr<Answer> (*run)(const Arguments& arguments, Context& context) = nullptr;
  bool is_hidden = false;  // for programs; help and completion do not tell of it
};

// What every verb takes: --json, --quiet and --help.
const std::vector<Option>& CommonOptions();

// The option of the verb, or the common one; nullptr: there is none.
const Option* FindOption(const Verb& verb, std::string_view name);

// In the order in which help lists them.
std::vector<Verb> AllVerbs();

}  // namespace tessera::cli

#endif  // TESSERA_CLI_VERB_H_
