#include "bench/ours/program.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "absl/strings/str_split.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kOfAllVerbs = "[warm] [threads] [digest]";

struct Name {
  std::string text;
  bool required = true;
};

std::vector<Name> NamesOf(std::string_view list) {
  std::vector<Name> names;
  for (const std::string& word :
       std::vector<std::string>(absl::StrSplit(std::string(list), ' ', absl::SkipEmpty()))) {
    const bool required = word.front() != '[';
    names.push_back({required ? word : word.substr(1, word.size() - 2), required});
  }
  return names;
}

// Whatever counts threads asks DefaultThreadCount, which looks here first.
absl::Status SetThreads(const Arguments& arguments) {
  if (!arguments.Has("threads")) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const int64_t threads, arguments.Count("threads"));
  if (threads < 1 || threads > 4096)
    return InvalidArgument("threads=", threads, " is no 1 to 4096");
  setenv("TESSERA_THREADS", std::to_string(threads).c_str(), 1);
  return absl::OkStatus();
}

absl::StatusOr<Result> Run(const Verb& verb, std::span<const std::string_view> words) {
  TESSERA_ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words));
  TESSERA_RETURN_IF_ERROR(arguments.Check(verb.arguments));
  TESSERA_RETURN_IF_ERROR(SetThreads(arguments));
  return verb.run(arguments);
}

int ExplainVerbs(std::string_view program, std::span<const Verb> verbs, std::string_view found) {
  if (found.empty()) fmt::print(stderr, "usage: {} VERB name=value ...\n", program);
  if (!found.empty()) fmt::print(stderr, "{}: no verb '{}'; there are\n", program, found);
  for (const Verb& verb : verbs) fmt::print(stderr, "  {} {}\n", verb.name, verb.arguments);
  fmt::print(stderr, "all of them with {}\n", kOfAllVerbs);
  return 3;
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(std::span<const std::string_view> words) {
  Arguments arguments;
  for (std::string_view word : words) {
    const size_t end = word.find('=');
    if (end == word.npos || end == 0) return InvalidArgument("'", word, "' is no name=value");
    const std::string name(word.substr(0, end));
    if (!arguments.values_.emplace(name, word.substr(end + 1)).second) {
      return InvalidArgument(name, "= is there twice");
    }
  }
  return arguments;
}

absl::Status Arguments::Check(std::string_view names) const {
  std::vector<Name> known = NamesOf(names);
  for (Name& name : NamesOf(kOfAllVerbs)) known.push_back(std::move(name));
  for (const Name& name : known) {
    if (name.required && !Has(name.text)) return InvalidArgument(name.text, "= is missing");
  }
  for (const auto& [given, value] : values_) {
    const auto is_given = [&](const Name& name) { return name.text == given; };
    if (std::any_of(known.begin(), known.end(), is_given)) continue;
    return InvalidArgument("no argument ", given, "=; there are ", names, " ", kOfAllVerbs);
  }
  return absl::OkStatus();
}

std::string Arguments::Text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  TESSERA_CHECK(found != values_.end());
  return found->second;
}

absl::StatusOr<int64_t> Arguments::Count(std::string_view name) const {
  const auto count = ParseInteger(Text(name));
  if (!count.ok()) return Prefixed(count.status(), name);
  if (*count < 0) return InvalidArgument(name, "=", *count, " is negative");
  return *count;
}

absl::StatusOr<int64_t> Arguments::CountOr(std::string_view name, int64_t fallback) const {
  if (!Has(name)) return fallback;
  return Count(name);
}

absl::StatusOr<bool> Arguments::FlagOr(std::string_view name, bool fallback) const {
  TESSERA_ASSIGN_OR_RETURN(const int64_t value, CountOr(name, fallback ? 1 : 0));
  if (value > 1) return InvalidArgument(name, "=", value, " is neither 0 nor 1");
  return value == 1;
}

absl::StatusOr<std::string> Arguments::Choice(std::string_view name,
                                              std::span<const std::string_view> known) const {
  if (!Has(name)) return std::string(known.front());
  const std::string value = Text(name);
  if (std::find(known.begin(), known.end(), value) != known.end()) return value;
  return InvalidArgument(name, "='", value, "' is none of ",
                         fmt::format("{}", fmt::join(known, ", ")));
}

int RunProgram(std::string_view program, std::span<const Verb> verbs, int argc, char** argv) {
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return ExplainVerbs(program, verbs, "");
  const auto verb = std::find_if(verbs.begin(), verbs.end(),
                                 [&](const Verb& each) { return each.name == words[0]; });
  if (verb == verbs.end()) return ExplainVerbs(program, verbs, words[0]);
  const absl::StatusOr<Result> result = Run(*verb, std::span(words).subspan(1));
  if (!result.ok()) {
    fmt::print(stderr, "{} {}: {}\n", program, verb->name, result.status().ToString());
    return 1;
  }
  fmt::print("{}\n", JsonLine(*result));
  return 0;
}

}  // namespace tessera::bench
