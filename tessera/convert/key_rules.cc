#include "tessera/convert/key_rules.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/core/status.h"

namespace tessera::convert {
namespace {

absl::Status CheckPermutation(const Dims& permutation) {
  Dims sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  Dims expected(permutation.size());
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted == expected) return absl::OkStatus();
  return InvalidArgument("transpose: ", ShapeText(permutation),
                         " is no order of the dimensions 0 to ",
                         static_cast<int64_t>(permutation.size()) - 1);
}

}  // namespace

absl::StatusOr<KeyRules> KeyRules::Make(const ConvertRequest& request) {
  KeyRules rules;
  if (request.match.has_value()) {
    auto match = regex::PythonRegex::Compile(*request.match);
    if (!match.ok()) return Prefixed(match.status(), "match");
    rules.match_ = *std::move(match);
  }
  for (const RenameRule& rename : request.renames) {
    auto rule = regex::PythonSubstitution::Compile(rename.pattern, rename.replacement);
    if (!rule.ok()) return Prefixed(rule.status(), "rename");
    rules.renames_.push_back(*std::move(rule));
  }
  for (const TransposeRule& transpose : request.transposes) {
    auto pattern = regex::PythonRegex::Compile(transpose.pattern);
    if (!pattern.ok()) return Prefixed(pattern.status(), "transpose");
    if (transpose.permutation.has_value()) {
      TESSERA_RETURN_IF_ERROR(CheckPermutation(*transpose.permutation));
    }
    rules.transposes_.push_back({*std::move(pattern), transpose.permutation});
  }
  return rules;
}

absl::StatusOr<bool> KeyRules::Selects(std::string_view key) const {
  if (!match_.has_value()) return true;
  return match_->Search(key);
}

absl::StatusOr<std::string> KeyRules::Renamed(std::string_view key) const {
  std::string name(key);
  for (const regex::PythonSubstitution& rename : renames_) {
    TESSERA_ASSIGN_OR_RETURN(name, rename.Apply(name));
  }
  return name;
}

absl::StatusOr<Dims> KeyRules::PermutationOf(std::string_view key, size_t rank) const {
  for (const Transpose& transpose : transposes_) {
    TESSERA_ASSIGN_OR_RETURN(const bool found, transpose.pattern.Search(key));
    if (!found) continue;
    if (transpose.permutation.has_value()) {
      if (transpose.permutation->size() == rank) return *transpose.permutation;
      return InvalidArgument("it has ", rank, " dimensions, and the order ",
                             ShapeText(*transpose.permutation), " has ",
                             transpose.permutation->size());
    }
    if (rank < 2) return InvalidArgument("it has ", rank, " dimensions, expected two or more");
    Dims last(rank);
    std::iota(last.begin(), last.end(), 0);
    std::swap(last[rank - 1], last[rank - 2]);
    return last;
  }
  return Dims();
}

}  // namespace tessera::convert
