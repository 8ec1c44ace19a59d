#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/core/log.h"
#include "tessera/core/status.h"
#include "tessera/mesh/match_partition_rules.h"
#include "tessera/mesh/pattern_spec.h"
#include "tessera/regex/python_regex.h"
#include "tests/vectors/case_values.h"
#include "tests/vectors/groups.h"

namespace tessera::vectors {
namespace {

using mesh::PartitionRule;
using mesh::PartitionSpec;
using ArrayTree = tree::Tree<ShapeDtype>;

ArrayTree TreeOf(const OrderedJson& test_case) {
  ArrayTree::Items items;
  for (size_t i = 0; i < test_case["names"].size(); ++i) {
    items.emplace_back(test_case["names"][i].get<std::string>(),
                       ShapeDtype{ShapeOf(test_case["shapes"][i]), DType::kFloat32});
  }
  return ArrayTree::MakeDict(std::move(items));
}

bool HasBadPattern(const std::vector<PartitionRule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const PartitionRule& rule) {
    return !regex::PythonRegex::Compile(rule.pattern).ok();
  });
}

// The recorded result is a list of [name, spec].
bool SameSpecs(const tree::Tree<PartitionSpec>& ours, const OrderedJson& expected) {
  if (ours.children().size() != expected.size()) return false;
  return std::all_of(expected.begin(), expected.end(), [&](const OrderedJson& row) {
    const auto* spec = ours.Find(tree::DictKey(row[0].get<std::string>()));
    return spec != nullptr && spec->leaf() == SpecOf(row[1]);
  });
}

// The spec without what only the original takes for axis names.
PartitionSpec WithoutUnsplitWords(const PartitionSpec& spec) {
  std::vector<mesh::SpecEntry> entries = spec.entries();
  for (mesh::SpecEntry& entry : entries) {
    if (entry == "None" || entry == "null" || entry == "*") entry = nullptr;
  }
  return PartitionSpec(std::move(entries));
}

std::string WithoutBlanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

}  // namespace

Report RunMatchPartitionRules(const OrderedJson& document) {
  Report report("match_partition_rules");
  for (const OrderedJson& test_case : document["match_partition_rules"]) {
    const auto rules = mesh::PartitionRulesFromJson(Json(test_case["rules"])).value();
    mesh::MatchOptions options{.strict = test_case["strict"].get<bool>()};
    options.min_size = std::nullopt;
    if (!test_case["min_size"].is_null()) options.min_size = test_case["min_size"].get<int64_t>();
    const auto ours = mesh::MatchPartitionRules(rules, TreeOf(test_case), options);
    if (ours.ok()) {
      report.Check(test_case.contains("ok") && SameSpecs(ours->specs, test_case["ok"]), test_case,
                   "specs differ");
    } else if (test_case.contains("error")) {
      report.Check(IsErrorOf(ours.status(), test_case["error"]), test_case,
                   ours.status().ToString());
    } else if (absl::IsInvalidArgument(ours.status()) && HasBadPattern(rules)) {
      report.Differs("bad-pattern-always-refused");
    } else {
      report.Failed(test_case, ours.status().ToString());
    }
  }
  return report;
}

Report RunPythonReSearch(const OrderedJson& document) {
  Report report("python_re_search");
  const auto subjects = document["python_re_subjects"].get<std::vector<std::string>>();
  for (const OrderedJson& test_case : document["python_re_search"]) {
    const OrderedJson& results = test_case["results"];
    const auto compiled = regex::PythonRegex::Compile(test_case["pattern"].get<std::string>());
    if (!compiled.ok() || results.contains("error")) {
      report.Check(!compiled.ok() && results.contains("error") &&
                       IsErrorOf(compiled.status(), results["error"]),
                   test_case, compiled.status().ToString());
      continue;
    }
    OrderedJson ours = OrderedJson::array();
    absl::Status failure;
    for (const std::string& subject : subjects) {
      const auto found = compiled->Search(subject);
      failure.Update(found.status());
      ours.push_back(found.ok() && *found);
    }
    report.Check(failure.ok() && ours == results["ok"], test_case,
                 Concat(failure.ToString(), " ", ours.dump()));
  }
  return report;
}

Report RunPatternSpec(const OrderedJson& document) {
  Report report("pattern_spec");
  for (const OrderedJson& test_case : document["pattern_spec"]) {
    const auto text = test_case["pattern"].get<std::string>();
    const auto name = test_case["name"].get<std::string>();
    const OrderedJson& expected = test_case["spec"];
    const auto ours = [&](const std::string& pattern) -> absl::StatusOr<PartitionSpec> {
      TESSERA_ASSIGN_OR_RETURN(const auto spec_of, mesh::CreatePatternBasedPartitionSpec(pattern));
      return spec_of(name);
    };
    const auto spec = ours(text);
    if (!spec.ok()) {
      const bool no_arrow = text.find("->") == std::string::npos;
      if (expected.contains("ok") && no_arrow && absl::IsInvalidArgument(spec.status())) {
        report.Differs("pattern-without-arrow");
      } else {
        report.Check(expected.contains("error") && IsErrorOf(spec.status(), expected["error"]),
                     test_case, spec.status().ToString());
      }
    } else if (expected.contains("ok") && *spec == SpecOf(expected["ok"])) {
      report.Passed();
    } else if (expected.contains("ok") && *spec == WithoutUnsplitWords(SpecOf(expected["ok"]))) {
      report.Differs("unsplit-words");
    } else if (text.find(' ') != std::string::npos && *spec == *ours(WithoutBlanks(text))) {
      report.Differs("blanks-trimmed");
    } else {
      report.Failed(test_case, spec->Text());
    }
  }
  return report;
}

}  // namespace tessera::vectors
