// tessera completion, and the hidden tessera complete-keys that its scripts run
#include "tessera/cli/arguments.h"
#include "tessera/cli/completion.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/nearest.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kShells[] = {"bash", "zsh"};

absl::StatusOr<Answer> RunCompletion(const Arguments& arguments, Context& context) {
  const std::string& shell = arguments.Positional(0);
  if (shell == "bash") {
    context.out().Write(BashCompletion(AllVerbs()));
  } else if (shell == "zsh") {
    context.out().Write(ZshCompletion(AllVerbs()));
  } else {
    return InvalidArgument("no completion for ", Quoted(shell), "; expected bash or zsh",
                           DidYouMean(shell, kShells));
  }
  return Answer::kYes;
}

absl::StatusOr<Answer> RunCompleteKeys(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(
      const checkpoint::Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kMetadata));
  TESSERA_ASSIGN_OR_RETURN(auto arrays, SelectArrays(checkpoint, std::nullopt));
  SortByName(arrays);
  std::vector<std::string_view> keys;
  keys.reserve(arrays.size());
  for (const checkpoint::CheckpointArray* array : arrays) keys.push_back(array->name);
  for (const std::string& key : CompleteKeys(keys, arguments.Text("--start").value_or(""))) {
    context.out().WriteLine(key);
  }
  return Answer::kYes;
}

}  // namespace

Verb CompletionVerb() {
  return {.name = "completion",
          .summary = "a script by which bash or zsh completes the words of this command",
          .positionals = {{.name = "SHELL",
                           .help = "bash or zsh",
                           .is_path = false,
                           .choices = {"bash", "zsh"}}},
          .details =
              "It completes verbs, options, what these may be set to, files, and the keys of "
              "arrays. An installed tessera brings the scripts along; else source them from "
              "~/.bashrc, or from ~/.zshrc after compinit.",
          .examples = {{"source <(tessera completion bash)", "for this shell, and its sessions"}},
          .run = RunCompletion};
}

Verb CompleteKeysVerb() {
  return {.name = "complete-keys",
          .summary = "how a key of an array may go on, a line each",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {PrefixOption(),
                      {.name = "--start", .value = "TEXT", .help = "what the key begins with"}},
          .examples = {{"tessera complete-keys run-1000 --start=model.", "what follows model."}},
          .run = RunCompleteKeys,
          .is_hidden = true};
}

}  // namespace tessera::cli
