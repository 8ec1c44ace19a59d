#include "tessera/cli/run.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/help.h"
#include "tessera/cli/mpi_ranks.h"
#include "tessera/cli/verb.h"
#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

constexpr int kCouldNot = 2;

// One line, whatever the message holds.
std::string ErrorLine(const absl::Status& status, const Terminal& terminal) {
  std::string text;
  for (char c : status.message()) text += c == '\n' ? ' ' : c;
  return Concat(terminal.Red("tessera:"), " ", Printable(text, terminal), "\n");
}

// What the user asked to end has ended; why it says so itself is no news.
absl::Status AsInterrupted(const absl::Status& status, const std::stop_token& stop) {
  if (!stop.stop_requested() || !absl::IsCancelled(status)) return status;
  const std::string_view message(status.message().data(), status.message().size());
  return message.starts_with("interrupted") ? status : Cancelled("interrupted; ", message);
}

// One of the ranks that mpirun started, or the only one.  The first speaks for all.
class Speaker {
 public:
  explicit Speaker(const Launch& launch) : first_(launch.rank == 0), alone_(launch.size == 1) {}

  int Fail(const absl::Status& status) const {
    Output err(first_ ? 2 : -1);
    err.Write(ErrorLine(status, TerminalOf(2)));
    return kCouldNot;
  }

  Terminal TerminalOf(int descriptor) const {
    return alone_ ? Terminal::Of(descriptor) : Terminal::OfRank(descriptor);
  }

  int Show(const std::string& text) const {
    Output out(first_ ? 1 : -1);
    out.Write(text);
    const absl::Status status = out.Flush();
    return status.ok() ? 0 : Fail(status);
  }

 private:
  const bool first_;
  const bool alone_;
};

absl::Status UnknownVerb(const std::string& word, const std::vector<Verb>& verbs) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) {
    if (!verb.is_hidden) names.push_back(verb.name);
  }
  const std::string meant = DidYouMean(word, names);
  return InvalidArgument("no verb ", Quoted(word), meant.empty() ? "; see tessera --help" : meant);
}

absl::StatusOr<Answer> RunVerb(const Verb& verb, const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const Answer answer, verb.run(arguments, context));
  TESSERA_RETURN_IF_ERROR(context.out().Flush());
  return answer;
}

// The same on every rank; of several the worst.
int CommonCode(int mine, comm::Comm& comm) {
  const absl::StatusOr<int64_t> worst = comm.AllReduce(mine, comm::ReduceOp::kMax);
  return worst.ok() ? static_cast<int>(*worst) : kCouldNot;
}

int RunWith(const Verb& verb, const Arguments& arguments, std::unique_ptr<comm::Comm> comm,
            const std::stop_token& stop, const Speaker& speaker) {
  const absl::StatusOr<int64_t> memory = MemoryOfEnvironment();
  if (!memory.ok()) return speaker.Fail(memory.status());
  Context context(
      {.comm = std::move(comm), .stop = stop, .quiet = arguments.quiet(), .memory = *memory});
  const absl::StatusOr<Answer> answer = RunVerb(verb, arguments, context);
  const int code =
      answer.ok() ? static_cast<int>(*answer) : speaker.Fail(AsInterrupted(answer.status(), stop));
  return context.comm().size() == 1 ? code : CommonCode(code, context.comm());
}

int RunAs(std::span<const std::string> words, std::unique_ptr<comm::Comm> comm,
          const std::stop_token& stop, const Speaker& speaker) {
  const std::vector<Verb> verbs = AllVerbs();
  const Terminal terminal = speaker.TerminalOf(1);
  std::string name = words[0];
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (name == "--version") name = "version";
  if (name == "--help" || name == "-h" || name == "help") {
    if (rest.empty()) return speaker.Show(Overview(verbs, terminal));
    name = std::exchange(rest[0], "--help");
  }
  const auto verb = std::find_if(verbs.begin(), verbs.end(),
                                 [&](const Verb& candidate) { return candidate.name == name; });
  if (verb == verbs.end()) return speaker.Fail(UnknownVerb(name, verbs));
  const absl::StatusOr<Arguments> arguments = Arguments::Parse(*verb, rest);
  if (!arguments.ok()) return speaker.Fail(arguments.status());
  if (arguments->help()) return speaker.Show(HelpText(*verb, terminal));
  return RunWith(*verb, *arguments, std::move(comm), stop, speaker);
}

}  // namespace

int Run(std::span<const std::string> words, std::stop_token stop) {
  const Launch launch = LaunchOfEnvironment();
  if (words.empty()) {
    Output err(launch.rank == 0 ? 2 : -1);
    err.Write(Overview(AllVerbs(), Terminal::Of(2)));
    return kCouldNot;
  }
  // MPI ends with this scope, after whatever uses it.
  absl::StatusOr<Ranks> ranks = OpenRanks(launch);
  const Speaker speaker(launch);
  if (!ranks.ok()) return speaker.Fail(ranks.status());
  return RunAs(words, std::move(ranks->comm), stop, speaker);
}

}  // namespace tessera::cli
