// tessera version
#include <nlohmann/json.hpp>

#include "tessera/cli/arguments.h"
#include "tessera/cli/context.h"
#include "tessera/cli/table.h"
#include "tessera/cli/verbs.h"
#include "tessera/core/status.h"

namespace tessera::cli {
namespace {

OrderedJson Facts() {
  return {{"version", TESSERA_VERSION},
          {"read", {"tensorstore", "safetensors", "zarr"}},
          {"write", {"tensorstore", "safetensors", "zarr2", "zarr3"}},
          {"codecs", {"none", "zstd", "gzip", "zlib", "bz2", "blosc", "crc32c"}},
          {"stores", {"file"}},
          {"mpi", TESSERA_HAS_MPI != 0},
          {"compiler", TESSERA_COMPILER},
          {"build", TESSERA_BUILD}};
}

std::string ValueText(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  std::string text;
  for (const auto& item : value) text += Concat(text.empty() ? "" : ", ", item.get<std::string>());
  return text;
}

absl::StatusOr<Answer> RunVersion(const Arguments& arguments, Context& context) {
  const OrderedJson facts = Facts();
  if (arguments.json()) {
    context.out().WriteJson(facts);
    return Answer::kYes;
  }
  context.out().WriteLine(Concat("tessera ", TESSERA_VERSION));
  Table table({{.title = ""}, {.title = "", .shrinks = true}});
  for (const auto& [name, value] : facts.items()) {
    if (name != "version") table.Add({name, ValueText(value)});
  }
  context.out().Write(table.Text(context.terminal()));
  return Answer::kYes;
}

}  // namespace

Verb VersionVerb() {
  return {.name = "version",
          .summary = "versions, formats and options built in",
          .examples = {{"tessera version --json", "the same for scripts"}},
          .run = RunVersion};
}

}  // namespace tessera::cli
