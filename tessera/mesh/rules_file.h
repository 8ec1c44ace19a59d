// A rules file: an ordered list of [pattern, spec], in JSON or YAML.
#ifndef TESSERA_MESH_RULES_FILE_H_
#define TESSERA_MESH_RULES_FILE_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/mesh/rules.h"

namespace tessera::mesh {

// What a file called `name` holds.  A name that ends in .json says the format; others are told
// apart by content: JSON where it is JSON, else YAML, of which a list in brackets is a form as
// well.  InvalidArgument with name, line and the rule's number, counted from 0, when it is neither
// or no list of rules.  Patterns are not compiled.
absl::StatusOr<std::vector<PartitionRule>> ParseRulesFile(std::string_view text,
                                                          std::string_view name);

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_RULES_FILE_H_
