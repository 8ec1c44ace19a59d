// A compact text form of partition rules: "attention|mlp->data,hidden->model".
#ifndef TESSERA_MESH_PATTERN_SPEC_H_
#define TESSERA_MESH_PATTERN_SPEC_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/regex/python_regex.h"

namespace tessera::mesh {

// A function from names to specs.
class PatternPartitionSpec {
 public:
  // The spec of the first pattern found in `name`, else the default.
  absl::StatusOr<PartitionSpec> operator()(std::string_view name) const;

 private:
  friend class PatternParser;
  struct Rule {
    std::vector<regex::PythonRegex> patterns;
    PartitionSpec spec;
  };

  std::vector<Rule> rules_;
  PartitionSpec default_spec_;
};

struct PatternSpecOptions {
  std::optional<Mesh> mesh = {};    // when given, its axes are the only ones allowed
  PartitionSpec default_spec = {};  // for names that no pattern takes
};

// Grammar: rules separated by ','; each "patterns->axes"; patterns separated by '|', each a Python
// regular expression; axes separated by '.', one per dimension, where "None", "null", "*" or
// nothing is not split and "a+b" splits over two axes.  Blanks around each part do not count; "\,"
// and "\|" stand for the plain characters inside a pattern.  A piece without an arrow is passed
// over with a warning.  InvalidArgument for a piece with two arrows, for text without any arrow,
// for a bad pattern and for an axis that the mesh lacks.
absl::StatusOr<PatternPartitionSpec> CreatePatternBasedPartitionSpec(
    std::string_view text, const PatternSpecOptions& options = {});

}  // namespace tessera::mesh

#endif  // TESSERA_MESH_PATTERN_SPEC_H_
