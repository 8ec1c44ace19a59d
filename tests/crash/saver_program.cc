// Saves generation after generation into a folder until it is killed, and looks at what is left.
//
//   saver_program save FOLDER FIRST   prints "start G PREFIX" and "committed G PREFIX"
//   saver_program check FOLDER NEXT   prints "found G PREFIX" for every prefix, saves generation
//                                     NEXT, and ends with 0 if all is well
#include <cstdio>
#include <memory>
#include <string>

#include "tessera/checkpoint/save_tree.h"
#include "tessera/core/environment.h"
#include "tessera/core/status.h"
#include "tests/crash/states.h"

namespace tessera::crash {
namespace {

using Tree = array::ValueTree;

void Say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// The second generation is a further prefix; all later ones write over one of the two.
std::string PrefixOf(int64_t generation) { return generation % 2 == 0 ? "tx" : "model"; }

// Generations differ in shapes, in chunks and in which arrays there are.
Tree TreeOf(int64_t generation) {
  const auto first = static_cast<int32_t>(generation * 1'000'003);
  Tree::Items items = {{"generation", array::MakeScalar(generation)}};
  const int64_t rows = 40 + 10 * (generation % 5);
  for (int64_t i = 0; i < 6 + generation % 4; ++i) {
    const auto number = static_cast<int32_t>(i);
    items.emplace_back(Concat("layer", i), Numbers({rows, 1000}, first + number));
  }
  // A folder in some generations, an array in others.
  Tree part = Numbers({100 + generation % 7}, first);
  items.emplace_back("part", generation % 3 == 0 ? std::move(part) : Tree::List({part, part}));
  return Tree::MakeDict(std::move(items));
}

checkpoint::SaveOptions OptionsOf(int64_t generation) {
  checkpoint::SaveOptions options;
  options.plan.prefix = PrefixOf(generation);
  options.plan.chunk_bytes = 32'000;
  options.shared_files = {{"checkpoint_metadata.json", Bytes::CopyOf(Concat(generation))}};
  return options;
}

absl::Status SaveOne(checkpoint::Saver& saver, const std::string& folder, int64_t generation) {
  TESSERA_ASSIGN_OR_RETURN(const auto store, checkpoint::OpenForSave(folder));
  TESSERA_ASSIGN_OR_RETURN(const auto future,
                           saver.Start(store, TreeOf(generation), OptionsOf(generation)));
  return future.Wait().status();
}

absl::Status SaveForever(const std::string& folder, int64_t first) {
  IoContext io;
  checkpoint::Saver saver({.io = &io});
  for (int64_t generation = first;; ++generation) {
    const std::string about = Concat(generation, " ", PrefixOf(generation));
    Say("start " + about);
    TESSERA_RETURN_IF_ERROR(SaveOne(saver, folder, generation));
    Say("committed " + about);
  }
}

// Each prefix must be all of the generation that its own scalar names.
absl::Status SayFound(const State& state) {
  for (const auto& [prefix, leaves] : state) {
    if (prefix == "files") continue;
    const auto scalar = leaves.find("['generation']");
    if (scalar == leaves.end()) return DataLoss("prefix ", prefix, " has no generation");
    const std::string digits = scalar->second.substr(scalar->second.find(' ') + 1);
    TESSERA_ASSIGN_OR_RETURN(const int64_t generation, ParseInteger(digits));
    TESSERA_ASSIGN_OR_RETURN(const Leaves expected, LeavesOf(TreeOf(generation)));
    if (prefix != PrefixOf(generation) || leaves != expected) {
      return DataLoss("prefix ", prefix, " is not what generation ", generation, " was");
    }
    Say(Concat("found ", generation, " ", prefix));
  }
  return absl::OkStatus();
}

absl::StatusOr<State> LoadWhole(store::KvStore& store, IoContext& io) {
  const std::string problems = ProblemsOf(store, io);
  if (!problems.empty()) return DataLoss("verify: ", problems);
  return LoadState(store, io);
}

absl::Status Check(const std::string& folder, int64_t next) {
  IoContext io;
  TESSERA_ASSIGN_OR_RETURN(const auto store, checkpoint::OpenForSave(folder));
  TESSERA_ASSIGN_OR_RETURN(const State state, LoadWhole(*store, io));
  TESSERA_RETURN_IF_ERROR(SayFound(state));
  checkpoint::Saver saver({.io = &io});
  TESSERA_RETURN_IF_ERROR(SaveOne(saver, folder, next));
  TESSERA_ASSIGN_OR_RETURN(const State after, LoadWhole(*store, io));
  TESSERA_ASSIGN_OR_RETURN(const Leaves expected, LeavesOf(TreeOf(next)));
  const auto saved = after.find(PrefixOf(next));
  if (saved != after.end() && saved->second == expected) return absl::OkStatus();
  return DataLoss("the new save is not what was saved");
}

absl::Status Run(int argc, char** argv) {
  if (argc != 4) return InvalidArgument("usage: ", argv[0], " save|check FOLDER GENERATION");
  TESSERA_ASSIGN_OR_RETURN(const int64_t generation, ParseInteger(argv[3]));
  const std::string verb = argv[1];
  if (verb == "save") return SaveForever(argv[2], generation);
  if (verb == "check") return Check(argv[2], generation);
  return InvalidArgument("unknown verb ", verb);
}

}  // namespace
}  // namespace tessera::crash

int main(int argc, char** argv) {
  const absl::Status status = tessera::crash::Run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
