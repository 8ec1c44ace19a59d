// tessera convert
#include <algorithm>
#include <optional>
#include <string>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/conversion.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/dtype.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

using convert::ConvertRequest;
using convert::TargetFormat;

absl::Status AddChanges(const Arguments& arguments, ConvertRequest& request) {
  for (const std::string& text : arguments.Texts("--rename")) {
    TESSERA_ASSIGN_OR_RETURN(request.renames.emplace_back(), ParseRename(text));
  }
  for (const std::string& text : arguments.Texts("--transpose")) {
    TESSERA_ASSIGN_OR_RETURN(request.transposes.emplace_back(), ParseTranspose(text));
  }
  if (const auto name = arguments.Text("--dtype"); name.has_value()) {
    const absl::StatusOr<DType> dtype = ParseDTypeAlias(*name);
    if (!dtype.ok()) return Prefixed(dtype.status(), "--dtype");
    if (!IsFloat(*dtype)) {
      return InvalidArgument("--dtype ", *name,
                             " is no floating-point type; only floating-point arrays are cast, ",
                             "and to such");
    }
    request.float_dtype = *dtype;
  }
  return absl::OkStatus();
}

// An option that means nothing for the format is a mistake, and not to be passed over.
absl::Status CheckOptions(const Arguments& arguments, TargetFormat format) {
  const auto refuse = [&](std::string_view option, std::string_view is_for) {
    return InvalidArgument(option, " is for ", is_for, "; the destination is ",
                           convert::TargetFormatName(format));
  };
  const bool tensors = format == TargetFormat::kSafetensors;
  for (std::string_view option : {"--shard-size", "--stem", "--metadata"}) {
    if (!tensors && arguments.Has(option)) return refuse(option, "safetensors");
  }
  for (std::string_view option : {"--codec", "--chunk-bytes"}) {
    if (tensors && arguments.Has(option)) return refuse(option, "tensorstore, zarr2 and zarr3");
  }
  if (format != TargetFormat::kTensorstore && arguments.Has("--to-prefix")) {
    return refuse("--to-prefix", "tensorstore");
  }
  return absl::OkStatus();
}

absl::Status AddTarget(const Arguments& arguments, ConvertRequest& request) {
  convert::Target& target = request.target;
  TESSERA_ASSIGN_OR_RETURN(target.shard_bytes, arguments.Size("--shard-size"));
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> chunk, arguments.Size("--chunk-bytes"));
  target.chunk_bytes = chunk.value_or(target.chunk_bytes);
  target.stem = arguments.Text("--stem").value_or(target.stem);
  target.prefix = arguments.Text("--to-prefix");
  for (const std::string& text : arguments.Texts("--metadata")) {
    TESSERA_ASSIGN_OR_RETURN(target.metadata.emplace_back(), ParseMetadataItem(text));
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> RunConvert(const Arguments& arguments, Context& context) {
  TESSERA_RETURN_IF_ERROR(UseMemory(arguments, context));
  TESSERA_ASSIGN_OR_RETURN(ConvertRequest request, CommonRequest(arguments));
  TESSERA_RETURN_IF_ERROR(AddChanges(arguments, request));
  TESSERA_RETURN_IF_ERROR(AddTarget(arguments, request));
  TESSERA_ASSIGN_OR_RETURN(std::optional<TargetFormat> format, FormatAskedFor(arguments));
  if (!format.has_value()) {
    TESSERA_ASSIGN_OR_RETURN(format, FormatOfSource(arguments, context));
  }
  request.target.format = *format;
  TESSERA_RETURN_IF_ERROR(CheckOptions(arguments, *format));
  return RunConversion(request, arguments, context, "converting", "converted");
}

std::vector<Option> ConvertOptions() {
  std::vector<Option> options = {
      {.name = "--to",
       .value = "FORMAT",
       .help = "of DST; else by its ending, else that of SRC",
       .choices = {"tensorstore", "safetensors", "zarr2", "zarr3"}},
      {.name = "--dtype", .value = "T", .help = "floating-point arrays become this, as bfloat16"},
      {.name = "--rename",
       .value = "'RE=>TEXT'",
       .help = "every match in a key becomes the text, as Python's re.sub does it",
       .repeats = true},
      {.name = "--transpose",
       .value = "RE[=PERM]",
       .help = "swap the last two dimensions of these, or order them as in 1,0,2",
       .repeats = true},
      {.name = "--shard-size",
       .value = "SIZE",
       .help = "safetensors: the most bytes of a file, as 5GB; one file unless given"},
      {.name = "--stem", .value = "NAME", .help = "safetensors: how files begin; model"},
      {.name = "--metadata",
       .value = "KEY=VALUE",
       .help = "safetensors: in every header",
       .repeats = true},
      {.name = "--to-prefix", .value = "P", .help = "tensorstore: the prefix that all arrays get"},
      {.name = "--chunk-bytes",
       .value = "SIZE",
       .help = "tensorstore and zarr: the most bytes of a chunk; 64MiB"}};
  const std::vector<Option> common = ConversionOptions();
  options.insert(options.begin() + 1, common.begin(), common.end());
  return options;
}

}  // namespace

Verb ConvertVerb() {
  return {
      .name = "convert",
      .summary = "between formats, streaming: memory does not grow with the arrays",
      .positionals = {{"SRC", "a folder or a file"},
                      {"DST", "what is made: a folder, or a file that ends in .safetensors"}},
      .options = ConvertOptions(),
      .details =
          "Formats are tensorstore (zarr arrays and the index of eformer), safetensors, and "
          "plain folders of zarr2 or zarr3 arrays. Without --to, a DST that ends in "
          ".safetensors is safetensors, and any other is of the format of SRC.\n\n"
          "Nothing is at DST before everything is written, read back and compared. A run that "
          "was interrupted leaves .DST.tessera-convert beside it, and the same command goes on "
          "with that. An existing DST is refused, or replaced in one step with --overwrite. "
          "Compression is zstd at level 1 unless --codec names another.\n\n"
          "Under mpirun every rank copies its share; all must see the same files.",
      .examples = {{"tessera convert run-1000 half.safetensors --dtype bfloat16", "one file"},
                   {"tessera convert run-1000 llama --to safetensors --shard-size 5GB "
                    "--rename '^model\\.=>' --rename 'kernel$=>weight' --transpose 'kernel$'",
                    "shards, under other names and transposed"},
                   {"tessera convert hf run-0 --to tensorstore --to-prefix model", "the way back"},
                   {"mpirun -n 8 tessera convert run-1000 out --to zarr3 --codec zstd:3",
                    "by eight ranks"}},
      .run = RunConvert};
}

}  // namespace tessera::cli
