#include "tessera/explain/lint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "tessera/core/natural_order.h"
#include "tessera/core/nearest.h"
#include "tessera/core/sizes.h"
#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/explain/key_list.h"
#include "tessera/explain/rule_matches.h"
#include "tessera/explain/spec_words.h"
#include "tessera/mesh/correction.h"

namespace tessera::explain {
namespace {

using mesh::PartitionRule;
using mesh::PartitionSpec;

int64_t BytesOf(const LintArray& array) {
  return NumBytes(array.about.dtype, array.about.shape)
      .value_or(std::numeric_limits<int64_t>::max());
}

std::string KeysText(std::span<const std::string> keys) {
  KeyList list;
  for (const std::string& key : keys) list.Add(key);
  return list.Text();
}

// "; it takes 32 keys".
std::string TakenText(size_t count) {
  if (count == 0) return "";
  return Concat("; it takes ", CountText(static_cast<int64_t>(count)),
                count == 1 ? " key" : " keys");
}

class Linter {
 public:
  Linter(std::span<const LintArray> arrays, std::span<const PartitionRule> rules,
         const std::optional<mesh::Mesh>& mesh)
      : arrays_(arrays), rules_(rules), mesh_(mesh) {
    for (const LintArray& array : arrays) {
      names_.push_back(array.rule_name);
      all_bytes_ += static_cast<double>(BytesOf(array));
    }
  }

  absl::StatusOr<std::vector<LintProblem>> Run() && {
    TESSERA_ASSIGN_OR_RETURN(matched_, MatchGoodRules(rules_, names_));
    taken_.resize(rules_.size());
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (matched_.rule_of[i].has_value()) taken_[*matched_.rule_of[i]].push_back(i);
    }
    for (const auto& [rule, why] : matched_.bad) Add("bad_pattern", rule, why);
    for (size_t rule = 0; rule < rules_.size(); ++rule) UnknownAxes(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) RepeatedAxes(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) Unconstrained(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) Indivisible(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) TooLong(rule);
    Unmatched();
    for (size_t rule = 0; rule < rules_.size(); ++rule) Shadowed(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) Unused(rule);
    for (size_t rule = 0; rule < rules_.size(); ++rule) Replicated(rule);
    return std::move(problems_);
  }

 private:
  using Keys = std::vector<std::string>;

  void Add(std::string_view kind, std::optional<size_t> rule, std::string detail,
           std::string suggestion = "", Keys keys = {}) {
    problems_.push_back(
        {std::string(kind), rule, std::move(detail), std::move(suggestion), std::move(keys)});
  }

  Keys KeysOf(size_t rule) const {
    Keys keys;
    for (size_t i : taken_[rule]) keys.push_back(arrays_[i].name);
    return keys;
  }

  void UnknownAxes(size_t rule) {
    if (!mesh_.has_value()) return;
    std::vector<std::string_view> known;
    for (const mesh::Axis& axis : mesh_->axes()) known.push_back(axis.name);
    std::set<std::string> seen;
    for (const mesh::SpecEntry& entry : rules_[rule].spec.entries()) {
      for (const std::string& axis : entry.axes()) {
        if (mesh_->FindAxis(axis).has_value() || !seen.insert(axis).second) continue;
        std::string meant = DidYouMean(axis, known);
        if (meant.starts_with("; ")) meant = meant.substr(2);
        Add("unknown_axis", rule,
            Concat(rules_[rule].spec.Text(), " names the axis ", Quoted(axis), ", but the mesh is ",
                   MeshWord(*mesh_), TakenText(taken_[rule].size())),
            std::move(meant), KeysOf(rule));
      }
    }
  }

  void RepeatedAxes(size_t rule) {
    std::set<std::string> once;
    std::set<std::string> twice;
    for (const mesh::SpecEntry& entry : rules_[rule].spec.entries()) {
      for (const std::string& axis : entry.axes()) {
        if (!once.insert(axis).second) twice.insert(axis);
      }
    }
    for (const std::string& axis : twice) {
      Add("duplicate_axis", rule,
          Concat(rules_[rule].spec.Text(), " names the axis ", Quoted(axis),
                 " twice; an axis can split one dimension", TakenText(taken_[rule].size())),
          "", KeysOf(rule));
    }
  }

  void Unconstrained(size_t rule) {
    const PartitionSpec& spec = rules_[rule].spec;
    for (int d = 0; d < spec.size(); ++d) {
      if (!spec[d].unconstrained()) continue;
      Add("unconstrained", rule,
          Concat("dimension ", d, " is left to the runtime, but a load must know where to put it",
                 TakenText(taken_[rule].size())),
          "write null, or an axis", KeysOf(rule));
      return;
    }
  }

  // What correction would do to the arrays of a rule, by dimension.
  struct Misfit {
    Keys keys;
    std::string first;
    std::set<int64_t> sizes;
  };

  void Indivisible(size_t rule) {
    if (!mesh_.has_value()) return;
    std::map<int, Misfit> misfits;
    for (size_t i : taken_[rule]) {
      const Dims& shape = arrays_[i].about.shape;
      const auto corrected = mesh::CorrectSpec(*mesh_, shape, rules_[rule].spec);
      for (const mesh::Correction& each : corrected.corrections) {
        if (each.reason != mesh::CorrectionReason::kIndivisible) continue;
        Misfit& misfit = misfits[each.dimension];
        if (misfit.keys.empty()) misfit.first = CorrectionText(each, shape, *mesh_);
        misfit.keys.push_back(arrays_[i].name);
        misfit.sizes.insert(shape[each.dimension]);
      }
    }
    for (auto& [dimension, misfit] : misfits) {
      const std::string sizes =
          misfit.sizes.size() == 1
              ? ""
              : Concat(", and ", misfit.sizes.size() - 1,
                       misfit.sizes.size() == 2 ? " other size" : " other sizes");
      std::string detail = Concat(KeysText(misfit.keys), ": ", misfit.first, sizes);
      Add("indivisible", rule, std::move(detail),
          "a corrected load leaves it whole; write null, or put a rule for these keys before this",
          std::move(misfit.keys));
    }
  }

  // Scalars are left out: every catch-all rule takes them, and there is nothing to split.
  void TooLong(size_t rule) {
    const PartitionSpec& spec = rules_[rule].spec;
    int last = spec.size();
    while (last > 0 && spec[last - 1].replicated()) --last;
    Keys keys;
    std::string first;
    for (size_t i : taken_[rule]) {
      const Dims& shape = arrays_[i].about.shape;
      if (shape.empty() || static_cast<size_t>(last) <= shape.size()) continue;
      if (keys.empty()) first = ShapeText(shape);
      keys.push_back(arrays_[i].name);
    }
    if (keys.empty()) return;
    std::string detail = Concat(KeysText(keys), ": ", spec.Text(), " splits dimension ", last - 1,
                                ", but the array is ", first);
    Add("spec_too_long", rule, std::move(detail),
        "the spec is cut to the rank; put a rule for these keys before this", std::move(keys));
  }

  void Unmatched() {
    Keys keys;
    int64_t bytes = 0;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (matched_.rule_of[i].has_value()) continue;
      keys.push_back(arrays_[i].name);
      if (__builtin_add_overflow(bytes, BytesOf(arrays_[i]), &bytes)) {
        bytes = std::numeric_limits<int64_t>::max();
      }
    }
    if (keys.empty()) return;
    std::string detail = Concat(KeysText(keys), ": no rule takes ",
                                keys.size() == 1 ? "it" : "them", " (", SizeText(bytes), ")");
    Add("unmatched_key", std::nullopt, std::move(detail),
        "add a rule, such as [\".*\", []] at the end", std::move(keys));
  }

  bool IsIdle(size_t rule) const { return taken_[rule].empty() && !matched_.bad.contains(rule); }

  void Shadowed(size_t rule) {
    if (!IsIdle(rule)) return;
    const std::vector<size_t> found = NamesWith(rules_[rule].pattern, names_);
    if (found.empty()) return;
    std::set<size_t> by;
    Keys keys;
    for (size_t i : found) {
      by.insert(*matched_.rule_of[i]);
      keys.push_back(arrays_[i].name);
    }
    std::string text;
    for (size_t other : by) {
      text += Concat(text.empty() ? "" : ", ", "rule ", other, " ", Quoted(rules_[other].pattern));
    }
    const std::string keys_text = KeysText(keys);
    Add("shadowed_rule", rule,
        Concat("all that it would match is taken by ", text, " before: ", keys_text),
        "move it up, or remove it", std::move(keys));
  }

  void Unused(size_t rule) {
    if (!IsIdle(rule) || !NamesWith(rules_[rule].pattern, names_).empty()) return;
    Add("unused_rule", rule,
        Concat("it is found in none of the ", CountText(static_cast<int64_t>(arrays_.size())),
               " keys"),
        MeantPattern(rules_[rule].pattern, names_));
  }

  bool IsReplicated(size_t rule, const LintArray& array) const {
    PartitionSpec spec = rules_[rule].spec;
    if (mesh_.has_value()) spec = mesh::CorrectSpec(*mesh_, array.about.shape, spec).spec;
    return std::all_of(spec.entries().begin(), spec.entries().end(),
                       [](const mesh::SpecEntry& entry) { return entry.replicated(); });
  }

  void Replicated(size_t rule) {
    std::vector<std::pair<int64_t, size_t>> whole;  // minus the bytes, so that large ones are first
    double bytes = 0;
    for (size_t i : taken_[rule]) {
      if (arrays_[i].about.shape.empty() || !IsReplicated(rule, arrays_[i])) continue;
      whole.emplace_back(-BytesOf(arrays_[i]), i);
      bytes += static_cast<double>(BytesOf(arrays_[i]));
    }
    // Less is small arrays, which are whole on purpose.
    if (whole.empty() || bytes < all_bytes_ / 100) return;
    std::sort(whole.begin(), whole.end());
    Keys keys;
    for (const auto& [size, i] : whole) keys.push_back(arrays_[i].name);
    std::string detail = Concat(KeysText(keys), ": whole on every device, ",
                                SizeText(static_cast<int64_t>(std::min(bytes, 9e18))), " of ",
                                SizeText(static_cast<int64_t>(std::min(all_bytes_, 9e18))));
    Add("replicated", rule, std::move(detail), "", std::move(keys));
  }

  std::span<const LintArray> arrays_;
  std::span<const PartitionRule> rules_;
  const std::optional<mesh::Mesh>& mesh_;
  std::vector<std::string_view> names_;
  double all_bytes_ = 0;
  MatchedRules matched_;
  std::vector<std::vector<size_t>> taken_;  // by rule: the arrays that it decides
  std::vector<LintProblem> problems_;
};

}  // namespace

std::vector<LintArray> LintArrays(const checkpoint::Checkpoint& checkpoint) {
  std::vector<LintArray> arrays;
  arrays.reserve(checkpoint.arrays().size());
  for (const checkpoint::CheckpointArray& array : checkpoint.arrays()) {
    arrays.push_back({array.name, array.RuleName(), array.shape_dtype()});
  }
  std::stable_sort(arrays.begin(), arrays.end(), [](const LintArray& a, const LintArray& b) {
    return NaturalLess(a.name, b.name);
  });
  return arrays;
}

absl::StatusOr<std::vector<LintProblem>> Lint(std::span<const LintArray> arrays,
                                              std::span<const PartitionRule> rules,
                                              const std::optional<mesh::Mesh>& mesh) {
  return Linter(arrays, rules, mesh).Run();
}

}  // namespace tessera::explain
