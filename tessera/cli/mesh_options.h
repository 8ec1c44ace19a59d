// The options by which verbs are told of a mesh and of rules.
#ifndef TESSERA_CLI_MESH_OPTIONS_H_
#define TESSERA_CLI_MESH_OPTIONS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/cli/arguments.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/rules.h"

namespace tessera::cli {

Option MeshOption();
Option RulesOption();

// What --mesh says; nullopt: it was not given.
absl::StatusOr<std::optional<mesh::Mesh>> MeshOf(const Arguments& arguments);

// What the file of --rules holds.  InvalidArgument when it was not given; NotFound and others, with
// its name, when it cannot be read; those of ParseRulesFile.
absl::StatusOr<std::vector<mesh::PartitionRule>> RulesOf(const Arguments& arguments);

}  // namespace tessera::cli

#endif  // TESSERA_CLI_MESH_OPTIONS_H_
