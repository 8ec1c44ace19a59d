// tessera rechunk
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/conversion.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules_file.h"

namespace tessera::cli {
namespace {

using convert::ConvertRequest;
using convert::TargetFormat;

absl::StatusOr<std::vector<mesh::PartitionRule>> ReadRules(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return NotFound("--rules ", Quoted(path), ": it cannot be read");
  return mesh::ParseRulesFile(text, path);
}

absl::Status AddChunks(const Arguments& arguments, ConvertRequest& request) {
  const std::optional<std::string> mesh = arguments.Text("--mesh");
  const std::optional<std::string> rules = arguments.Text("--rules");
  if (mesh.has_value() != rules.has_value()) {
    return InvalidArgument(mesh.has_value() ? "--mesh needs --rules" : "--rules needs --mesh",
                           ": chunks that follow shards take both");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::optional<int64_t> bytes, arguments.Size("--chunk-bytes"));
  if (!mesh.has_value() && !bytes.has_value()) {
    return InvalidArgument("nothing says how to chunk: give --mesh and --rules, or --chunk-bytes");
  }
  request.target.chunk_bytes = bytes.value_or(request.target.chunk_bytes);
  if (!mesh.has_value()) return absl::OkStatus();
  auto parsed = mesh::ParseMesh(*mesh);
  if (!parsed.ok()) return Prefixed(parsed.status(), "--mesh");
  TESSERA_ASSIGN_OR_RETURN(auto list, ReadRules(*rules));
  request.target.shards = {*std::move(parsed), std::move(list)};
  return absl::OkStatus();
}

absl::StatusOr<TargetFormat> ChooseFormat(const Arguments& arguments, Context& context) {
  TESSERA_ASSIGN_OR_RETURN(std::optional<TargetFormat> format, FormatAskedFor(arguments));
  if (format == TargetFormat::kSafetensors) {
    return InvalidArgument("safetensors files have no chunks; rechunk makes tensorstore, zarr2 ",
                           "or zarr3, and tessera convert makes safetensors");
  }
  if (format.has_value()) return *format;
  TESSERA_ASSIGN_OR_RETURN(const TargetFormat own, FormatOfSource(arguments, context));
  return own == TargetFormat::kSafetensors ? TargetFormat::kTensorstore : own;
}

absl::StatusOr<Answer> RunRechunk(const Arguments& arguments, Context& context) {
  TESSERA_RETURN_IF_ERROR(UseMemory(arguments, context));
  TESSERA_ASSIGN_OR_RETURN(ConvertRequest request, CommonRequest(arguments));
  request.target.keep_codec = !arguments.Has("--codec");
  TESSERA_RETURN_IF_ERROR(AddChunks(arguments, request));
  TESSERA_ASSIGN_OR_RETURN(request.target.format, ChooseFormat(arguments, context));
  return RunConversion(request, arguments, context, "rechunking", "rechunked");
}

std::vector<Option> RechunkOptions() {
  std::vector<Option> options = {
      {.name = "--mesh", .value = "M", .help = "the mesh that will load it, as dp=2,tp=4"},
      {.name = "--rules",
       .value = "FILE",
       .help = "partition rules, in JSON or YAML: a list of [regex, spec]",
       .is_path = true},
      {.name = "--chunk-bytes",
       .value = "SIZE",
       .help = "the most bytes of a chunk, as 16MiB; 64MiB unless given"},
      {.name = "--to",
       .value = "FORMAT",
       .help = "of DST; else that of SRC",
       .choices = {"tensorstore", "zarr2", "zarr3"}}};
  for (Option& option : ConversionOptions()) options.push_back(std::move(option));
  return options;
}

}  // namespace

Verb RechunkVerb() {
  return {.name = "rechunk",
          .summary = "the same arrays in another chunking",
          .positionals = {{"SRC", "a folder or a file"}, {"DST", "the folder that is made"}},
          .options = RechunkOptions(),
          .details =
              "With --mesh and --rules no chunk reaches over the border of a shard, so that a load "
              "on that mesh reads every byte once. Shards larger than --chunk-bytes, or than a "
              "sixteenth of the memory, become several chunks. Specs that do not divide an array "
              "are corrected as tessera plan does it; arrays that no rule takes are chunked by "
              "size. Both are listed.\n\n"
              "The format stays; safetensors, which have no chunks, become tensorstore. Codecs "
              "stay where the format has them, and --codec names another. All else is as with "
              "tessera convert.",
          .examples = {{"tessera rechunk run-1000 for-tp8 --mesh tp=8 --rules rules.json",
                        "for eight devices"},
                       {"tessera rechunk run-1000 small --chunk-bytes 4MiB --codec zstd:3",
                        "chunks of at most 4 MiB"}},
          .run = RunRechunk};
}

}  // namespace tessera::cli
