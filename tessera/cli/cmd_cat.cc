// tessera cat
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/find.h"
#include "tessera/cli/output.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/inspect/npy.h"
#include "tessera/inspect/values.h"
#include "tessera/inspect/values_text.h"

namespace tessera::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointArray;
using inspect::Selection;

// The document up to where the values, or something else, follow.
std::string JsonHead(const CheckpointArray& array, const Selection& selection) {
  const Dims shape = selection.shape();
  OrderedJson head{{"key", array.name}, {"dtype", DTypeName(array.dtype())}};
  head["shape"] = std::vector<int64_t>(shape.begin(), shape.end());
  std::string text = JsonLine(head);
  text.pop_back();
  return text;
}

std::string HeadLine(const CheckpointArray& array, const Selection& selection,
                     const Terminal& terminal) {
  return Concat(terminal.Bold(Printable(array.name, terminal)), "  ", DTypeName(array.dtype()),
                "  ", ShapeText(selection.shape()));
}

absl::Status WriteFile(const Checkpoint& checkpoint, const CheckpointArray& array,
                       const Selection& selection, const std::string& path,
                       const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(const int64_t bytes, NumBytes(array.dtype(), selection.counts()));
  ProgressState state{.bytes_total = bytes};
  {
    ProgressLine line = context.Progress("writing");
    const auto tell = [&](int64_t more) {
      state.bytes_done += more;
      line.Update(state);
    };
    const absl::Status status =
        inspect::WriteNpy(checkpoint, array, selection, path,
                          {.overwrite = arguments.Has("--overwrite"), .on_bytes = tell},
                          context.io(), context.stop());
    if (absl::IsAlreadyExists(status)) {
      return absl::AlreadyExistsError(
          Concat(std::string(status.message()), "; --overwrite replaces it"));
    }
    TESSERA_RETURN_IF_ERROR(status);
  }
  if (!inspect::NpyKnows(array.dtype())) {
    context.Note(Concat("NumPy has no ", DTypeName(array.dtype()),
                        ": read it with numpy.load(FILE).view(ml_dtypes.", DTypeName(array.dtype()),
                        ")"));
  }
  if (arguments.json()) {
    const OrderedJson file(path);
    context.out().WriteLine(Concat(JsonHead(array, selection), ",\"file\":", JsonLine(file), "}"));
  } else {
    context.out().WriteLine(Concat(HeadLine(array, selection, context.terminal()), "  ",
                                   SizeText(bytes), " to ", Printable(path, context.terminal())));
  }
  return absl::OkStatus();
}

absl::Status WriteValues(const Checkpoint& checkpoint, const CheckpointArray& array,
                         const Selection& selection, const Arguments& arguments, Context& context) {
  const bool all = arguments.json() || arguments.Has("--all");
  TESSERA_ASSIGN_OR_RETURN(
      const inspect::Values values,
      all ? inspect::ReadValues(checkpoint, array, selection, context.io(), context.stop())
          : inspect::ReadEdges(checkpoint, array, selection, context.io(), context.stop()));
  Output& out = context.out();
  if (arguments.json()) {
    out.Write(Concat(JsonHead(array, selection), ",\"values\":"));
    inspect::WriteValuesJson(values, [&](std::string_view text) { out.Write(text); });
    out.WriteLine("}");
    return absl::OkStatus();
  }
  const Terminal& terminal = context.terminal();
  const int width = terminal.columns > 0 ? terminal.columns : inspect::kTextWidth;
  out.WriteLine(HeadLine(array, selection, terminal));
  out.WriteLine(inspect::ValuesText(values, width));
  return absl::OkStatus();
}

absl::StatusOr<Answer> RunCat(const Arguments& arguments, Context& context) {
  const std::optional<std::string> file = arguments.Text("--output");
  if (arguments.Has("--overwrite") && !file.has_value()) {
    return InvalidArgument("--overwrite is for the file of -o, and there is none");
  }
  TESSERA_ASSIGN_OR_RETURN(
      const Checkpoint checkpoint,
      OpenCheckpoint(arguments.Positional(0), arguments, context, Reads::kData));
  TESSERA_ASSIGN_OR_RETURN(const CheckpointArray* array,
                           FindArray(checkpoint, arguments.Positional(1)));
  const auto selection =
      inspect::ParseSlice(arguments.Text("--slice").value_or(""), array->shape());
  if (!selection.ok()) return Prefixed(selection.status(), array->name);
  TESSERA_RETURN_IF_ERROR(file.has_value()
                              ? WriteFile(checkpoint, *array, *selection, *file, arguments, context)
                              : WriteValues(checkpoint, *array, *selection, arguments, context));
  return Answer::kYes;
}

}  // namespace

Verb CatVerb() {
  return {.name = "cat",
          .summary = "the values of an array, as text or as a .npy file",
          .positionals = {{"CKPT", "a folder or a file"},
                          {.name = "KEY", .help = "the array, as ls calls it", .is_path = false}},
          .options = {{.name = "--slice",
                       .value = "SLICE",
                       .help = "some of it, as NumPy writes it: 0:4,:,-1,::2 or ...,0"},
                      {.name = "--output",
                       .value = "FILE.npy",
                       .help = "write a NumPy file instead of text",
                       .is_path = true,
                       .letter = 'o'},
                      {.name = "--overwrite", .help = "replace the file if it is there"},
                      {.name = "--all", .help = "all values, also more than 1,000"},
                      PrefixOption()},
          .details =
              "Only the chunks that hold a part of the slice are read. Text is that of NumPy, with "
              "as many digits as tell a number from its neighbours; of more than 1,000 values it "
              "shows the first and last of each dimension. JSON has all values, nested; NaN and "
              "infinities are strings, a complex number is [re, im].\n\n"
              "A .npy file appears when it is whole. NumPy lacks the types of ml_dtypes: it saves "
              "them as raw bytes, and so does this command; "
              "numpy.load(FILE).view(ml_dtypes.bfloat16) has the values back.",
          .examples = {{"tessera cat run-1000 model.norm.scale", "the array, in short"},
                       {"tessera cat run-1000 model.embed.embedding --slice 0:4,:8", "a corner"},
                       {"tessera cat run-1000 model.embed.embedding -o embedding.npy",
                        "all of it, for NumPy"},
                       {"tessera cat run-1000 model.norm.scale --json | jq '.values | max'",
                        "for a script"}},
          .run = RunCat};
}

}  // namespace tessera::cli
