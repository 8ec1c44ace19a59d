// tessera hash
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/conversion.h"
#include "tessera/cli/find.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/status.h"
#include "tessera/inspect/hash_arrays.h"

namespace tessera::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;

absl::StatusOr<std::vector<std::string>> Hash(const Checkpoint& checkpoint,
                                              const std::vector<const CheckpointArray*>& arrays,
                                              Context& context) {
  ProgressLine line = context.Progress(ShareText("hashing", context));
  return inspect::HashArrays(
      checkpoint, arrays, {.io = context.io(), .comm = context.other_ranks()},
      [&](const inspect::HashProgress& now) {
        line.Update({now.bytes_done, now.bytes_total, now.arrays_done, now.arrays_total});
      },
      context.stop());
}

absl::StatusOr<Answer> RunHash(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(
      const Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kData));
  TESSERA_ASSIGN_OR_RETURN(std::vector<const CheckpointArray*> arrays,
                           SelectArrays(checkpoint, arguments.Text("--match")));
  SortByName(arrays);
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> hashes,
                           Hash(checkpoint, arrays, context));
  OrderedJson by_key = OrderedJson::object();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const CheckpointArray& array = *arrays[i];
    if (arguments.json()) {
      by_key[array.name] = {
          {"dtype", DTypeName(array.dtype())}, {"shape", array.shape()}, {"sha256", hashes[i]}};
    } else {
      context.out().WriteLine(Concat(hashes[i], "  ", DTypeName(array.dtype()),
                                     ShapeText(array.shape()), "  ",
                                     Printable(array.name, context.terminal())));
    }
  }
  if (arguments.json()) context.out().WriteJson({{"arrays", std::move(by_key)}});
  return Answer::kYes;
}

}  // namespace

Verb HashVerb() {
  return {.name = "hash",
          .summary = "content hashes of arrays, the same in every format",
          .positionals = {{"CKPT", "a folder or a file"}},
          .options = {MatchOption(), PrefixOption()},
          .details =
              "A line an array: SHA-256 of the elements in C order, little-endian, with one byte "
              "for each element of a type under a byte; dtype and shape; and the key. Hashes do "
              "not depend on format, chunks, codecs or shardings.\n\n"
              "Under mpirun every rank hashes its share.",
          .examples = {{"tessera hash run-1000 > hashes", "to compare with another day"},
                       {"diff <(tessera hash run-1000) <(tessera hash model.safetensors)",
                        "whether two formats hold the same arrays"}},
          .run = RunHash};
}

}  // namespace tessera::cli
