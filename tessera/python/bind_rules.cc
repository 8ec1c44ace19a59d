// Specs for arrays: fitted to shapes, chosen by rules and patterns, and judged on a mesh.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/status.h"
#include "tessera/mesh/analysis.h"
#include "tessera/mesh/correction.h"
#include "tessera/mesh/extract.h"
#include "tessera/mesh/pattern_spec.h"
#include "tessera/mesh/rules.h"
#include "tessera/mesh/settings.h"
#include "tessera/python/bind.h"
#include "tessera/python/errors.h"
#include "tessera/python/py_mesh.h"
#include "tessera/python/py_object.h"
#include "tessera/regex/python_regex.h"

namespace tessera::python {

namespace nb = nanobind;

namespace {

nb::tuple RecordOf(const mesh::Correction& correction) {
  const std::string_view reason = mesh::CorrectionReasonText(correction.reason);
  return nb::make_tuple(correction.dimension, ObjectOf(correction.before),
                        ObjectOf(correction.after), nb::str(reason.data(), reason.size()));
}

// The fitted spec bound to the mesh, and the records of what was changed.  Nothing is logged here:
// the package warns as Python does.
nb::tuple CorrectSharding(nb::handle mesh, nb::handle shape, nb::handle spec, bool keep_partial) {
  const Dims dims = DimsOf(shape);
  Check(ValidateShape(dims));
  const mesh::Mesh on = MeshOf(mesh);
  auto corrected = mesh::CorrectSpec(on, dims, SpecOf(spec), {.keep_partial = keep_partial});
  nb::list records;
  for (const mesh::Correction& correction : corrected.corrections) {
    records.append(RecordOf(correction));
  }
  auto sharding = Unwrap(mesh::NamedSharding::Make(on, std::move(corrected.spec)));
  return nb::make_tuple(std::move(sharding), records);
}

std::vector<mesh::PartitionRule> PairsOf(nb::handle rules) {
  std::vector<mesh::PartitionRule> parsed;
  for (const nb::handle rule : rules) {
    if (!nb::isinstance<nb::sequence>(rule) || nb::len(rule) != 2) {
      RaiseTypeError(Concat("rule ", parsed.size()), "a pair of pattern and spec is expected");
    }
    parsed.push_back(
        {TextOf(rule[0], Concat("the pattern of rule ", parsed.size())), SpecOf(rule[1])});
  }
  return parsed;
}

std::vector<mesh::NamedLeaf> LeavesOf(const std::vector<std::string>& names, nb::handle shapes) {
  std::vector<mesh::NamedLeaf> leaves;
  for (const nb::handle shape : shapes) {
    if (leaves.size() == names.size()) break;
    leaves.push_back({names[leaves.size()], std::nullopt});
    if (!shape.is_none()) leaves.back().shape = DimsOf(shape);
  }
  if (leaves.size() != names.size()) {
    Raise(InvalidArgument(names.size(), " names, but ", leaves.size(), " shapes"));
  }
  return leaves;
}

// For each leaf the number of its rule, or None, and how many entries of the rule's spec it keeps.
// So the package can give back the caller's own objects.
nb::tuple MatchRules(nb::handle rules, const std::vector<std::string>& names, nb::handle shapes,
                     std::optional<int64_t> min_size, bool strict, bool replicate_unmatched,
                     nb::handle mesh) {
  const std::vector<mesh::PartitionRule> parsed = PairsOf(rules);
  const std::vector<mesh::NamedLeaf> leaves = LeavesOf(names, shapes);
  mesh::MatchOptions options{.min_size = min_size, .strict = strict};
  if (replicate_unmatched) options.on_unmatched = mesh::MatchOptions::OnUnmatched::kReplicate;
  options.mesh = OptionalMeshOf(mesh);
  const auto match = [&] {
    const ReleasedGil release;
    return mesh::MatchLeaves(parsed, leaves, options);
  };
  const mesh::RuleMatches matches = Unwrap(match());
  nb::list rule_numbers;
  nb::list kept;
  for (const mesh::LeafMatch& leaf : matches.leaves) {
    rule_numbers.append(leaf.rule.has_value() ? nb::object(nb::cast(*leaf.rule)) : nb::none());
    kept.append(leaf.spec.size());
  }
  return nb::make_tuple(rule_numbers, kept, matches.unused_rules, matches.unmatched);
}

mesh::PlannedArray PlannedArrayOf(nb::handle row) {
  const std::string key = TextOf(row[0], "an array's key");
  const DType dtype = Unwrap(ParseDType(TextOf(row[2], Concat("the dtype of ", key))));
  return {key, DimsOf(row[1]), dtype, SpecOf(row[3])};
}

nb::dict DictOf(const mesh::ShardingAnalysis& analysis) {
  nb::dict memory;
  for (const auto& device : analysis.memory_per_device) {
    memory[nb::cast(device.device)] = device.bytes;
  }
  nb::dict stats;
  for (const auto& [spec, use] : analysis.partition_stats) {
    nb::dict row;
    row["arrays"] = use.arrays;
    row["parameters"] = use.parameters;
    row["bytes"] = use.bytes;
    stats[nb::cast(spec)] = row;
  }
  nb::dict result;
  result["total_parameters"] = analysis.total_parameters;
  result["sharded_parameters"] = analysis.sharded_parameters;
  result["memory_per_device"] = memory;
  result["balance_score"] = analysis.balance_score;
  result["partition_stats"] = stats;
  result["efficiency"] = analysis.efficiency;
  return result;
}

// Each row of `arrays` is a key, a shape, the name of a dtype, and a spec.
nb::dict Analyze(nb::handle arrays, nb::handle mesh) {
  std::vector<mesh::PlannedArray> planned;
  for (const nb::handle row : arrays) planned.push_back(PlannedArrayOf(row));
  return DictOf(Unwrap(mesh::AnalyzeArrays(planned, MeshOf(mesh))));
}

std::vector<std::string> NamesFromSpecs(nb::handle specs) {
  std::vector<mesh::PartitionSpec> parsed;
  for (const nb::handle spec : specs) parsed.push_back(SpecOf(spec));
  return mesh::GetNamesFromPartitionSpec(parsed);
}

void BindPatterns(nb::module_& module) {
  nb::class_<mesh::PatternPartitionSpec>(module, "PatternSpec", "A function from names to specs.")
      .def(
          "__init__",
          [](mesh::PatternPartitionSpec* self, const std::string& text, nb::handle mesh,
             nb::handle default_spec) {
            new (self) mesh::PatternPartitionSpec(Unwrap(mesh::CreatePatternBasedPartitionSpec(
                text, {.mesh = OptionalMeshOf(mesh), .default_spec = SpecOf(default_spec)})));
          },
          nb::arg("text"), nb::arg("mesh").none(), nb::arg("default_spec"))
      .def(
          "__call__",
          [](const mesh::PatternPartitionSpec& self, const std::string& name) {
            return Unwrap(self(name));
          },
          nb::arg("name"));

  nb::class_<regex::PythonRegex>(module, "PythonRegex",
                                 "A Python regular expression, as rules are.")
      .def(
          "__init__",
          [](regex::PythonRegex* self, const std::string& pattern) {
            new (self) regex::PythonRegex(Unwrap(regex::PythonRegex::Compile(pattern)));
          },
          nb::arg("pattern"))
      .def(
          "search",
          [](const regex::PythonRegex& self, const std::string& text) {
            return Unwrap(self.Search(text));
          },
          nb::arg("text"), "Is it found anywhere in the text?");
}

}  // namespace

void BindRules(nb::module_& module) {
  module.def("correct_sharding", &CorrectSharding, nb::arg("mesh"), nb::arg("shape"),
             nb::arg("spec"), nb::arg("keep_partial") = false);
  module.def("match_rules", &MatchRules, nb::arg("rules"), nb::arg("names"), nb::arg("shapes"),
             nb::arg("min_size").none() = 0, nb::arg("strict") = true,
             nb::arg("replicate_unmatched") = false, nb::arg("mesh") = nb::none());
  module.def("analyze_sharding", &Analyze, nb::arg("arrays"), nb::arg("mesh"));
  module.def("names_from_specs", &NamesFromSpecs, nb::arg("specs"));
  module.def("min_sharding_size", [] { return Unwrap(mesh::MinShardingSize()); });
  module.def("log_sharding_move", &mesh::LogShardingMove);
  BindPatterns(module);
}

}  // namespace tessera::python
