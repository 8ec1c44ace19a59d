#include "tessera/cli/mesh_options.h"

#include <string>

#include "tessera/cli/text_file.h"
#include "tessera/core/status.h"
#include "tessera/mesh/rules_file.h"

namespace tessera::cli {

Option MeshOption() {
  return {.name = "--mesh", .value = "M", .help = "axes of the mesh, major to minor: dp=2,tp=4"};
}

Option RulesOption() {
  return {.name = "--rules",
          .value = "FILE",
          .help = "an ordered list of [pattern, spec], in JSON or YAML",
          .is_path = true};
}

absl::StatusOr<std::optional<mesh::Mesh>> MeshOf(const Arguments& arguments) {
  const std::optional<std::string> text = arguments.Text("--mesh");
  if (!text.has_value()) return std::nullopt;
  const auto mesh = mesh::ParseMesh(*text);
  if (!mesh.ok()) return Prefixed(mesh.status(), "--mesh");
  return std::optional(*mesh);
}

absl::StatusOr<std::vector<mesh::PartitionRule>> RulesOf(const Arguments& arguments) {
  const std::optional<std::string> path = arguments.Text("--rules");
  if (!path.has_value()) {
    return InvalidArgument(
        "--rules FILE is missing: an ordered list of [pattern, spec], such as "
        "[[\"kernel$\", [null, \"tp\"]], [\".*\", []]]");
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(*path));
  return mesh::ParseRulesFile(text, *path);
}

}  // namespace tessera::cli
